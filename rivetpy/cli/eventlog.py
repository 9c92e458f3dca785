"""What `rivet dev` prints while it runs: a line per event worth seeing."""

from __future__ import annotations

import logging
import os
import queue
import threading

from rivetpy.cli.logline import LEVELS, clock, object_line
from rivetpy.cli.text import near, visible
from rivetpy.host.events import HostEvent
from rivetpy.identity import format_key

#: Lines that may wait for a terminal that is paused (Ctrl-S) before further ones are dropped.
MAX_WAITING = 10_000
_COLORS = {logging.DEBUG: "2", logging.WARNING: "33", logging.ERROR: "31", logging.CRITICAL: "31"}


class EventLog:
    """Prints events from a thread of its own: a terminal that takes nothing must not hold up the engine."""

    def __init__(
        self, descriptor: int, level: str, color: bool, begin: threading.Event, log_format: str = "text"
    ) -> None:
        """Nothing is printed before ``begin``: the parent's own lines come first."""
        self._descriptor = descriptor
        self._begin = begin
        self._level = LEVELS[level]
        self._color = color
        self._format = log_format
        self._waiting: queue.Queue[bytes | None] = queue.Queue(MAX_WAITING)
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._writer.start()

    def show(self, event: HostEvent) -> None:
        """Print the event, if its level is worth it."""
        if event.level < self._level:
            return
        site = event.failure.site if event.failure is not None else None
        where = f" ({near(site)})" if site is not None else ""
        name, key, text = event.actor.name, format_key(event.actor.key), f"{event.text}{where}"
        if self._format == "json":
            self._put(object_line(event.level, text, name, key))
        else:
            self._put(self._colored(visible(f"{clock()} {name} {key}: {text}"), event.level))

    def close(self) -> None:
        """Give what was printed last a moment to come out."""
        self._begin.set()
        try:
            self._waiting.put_nowait(None)
        except queue.Full:
            return
        self._writer.join(1.0)

    def _put(self, line: str) -> None:
        try:
            self._waiting.put_nowait((line + "\n").encode("utf-8", "backslashreplace"))
        except queue.Full:
            return

    def _colored(self, line: str, level: int) -> str:
        code = _COLORS.get(level)
        return f"\x1b[{code}m{line}\x1b[0m" if self._color and code else line

    def _write(self) -> None:
        self._begin.wait()
        try:
            while (data := self._waiting.get()) is not None:
                while data:
                    data = data[os.write(self._descriptor, data) :]
        except OSError:
            return  # nobody reads any more; the engine goes on
