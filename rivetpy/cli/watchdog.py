"""Says which line of the user's code holds up the engine: nothing else runs meanwhile, and nothing else would tell."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from types import FrameType

from rivetpy.workflow.failure import is_user_code

#: Seconds between two looks, and how long the event loop may take to answer one.
PERIOD, LIMIT = 0.5, 1.0

log = logging.getLogger("rivetpy.engine")


class Watchdog:
    """Watches the event loop that it is made on, from a thread of its own."""

    def __init__(self, period: float = PERIOD, limit: float = LIMIT) -> None:
        self._period, self._limit = period, limit
        self._loop = asyncio.get_running_loop()
        self._watched = threading.get_ident()
        self._ended = threading.Event()
        threading.Thread(target=self._watch, name="rivet-watchdog", daemon=True).start()

    def end(self) -> None:
        """Look no more."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(self._period):
            answered = threading.Event()
            try:
                self._loop.call_soon_threadsafe(answered.set)
            except RuntimeError:  # it is closed
                return
            if not answered.wait(self._limit):
                self._tell()
                answered.wait()

    def _tell(self) -> None:
        where = users_line(self._watched)
        if where is not None:
            log.warning(
                "%s has held up the whole engine for over %g s. What blocks (time.sleep, requests, much computing) "
                "belongs into a step that is a plain def: that runs in a thread",
                where,
                self._limit,
            )


def users_line(thread: int) -> str | None:
    """file:line of the user's code that a thread is in now."""
    frame: FrameType | None = sys._current_frames().get(thread)
    while frame is not None and not is_user_code(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
