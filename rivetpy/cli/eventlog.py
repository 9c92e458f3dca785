"""What `rivet dev` prints while it runs: a line per event worth seeing, and the user's log records."""

from __future__ import annotations

import logging
import os
import queue
import sys
import threading
import time

from rivetpy.cli.text import near, visible
from rivetpy.host.events import HostEvent
from rivetpy.identity import format_key

#: Lines that may wait for a terminal that is paused (Ctrl-S) before further ones are dropped.
MAX_WAITING = 10_000
_COLORS = {logging.DEBUG: "2", logging.WARNING: "33", logging.ERROR: "31", logging.CRITICAL: "31"}
_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


class EventLog:
    """Prints events from a thread of its own: a terminal that takes nothing must not hold up the engine."""

    def __init__(self, descriptor: int, level: str, color: bool, begin: threading.Event) -> None:
        """Nothing is printed before ``begin``: the parent's own lines come first."""
        self._descriptor = descriptor
        self._begin = begin
        self._level = _LEVELS[level]
        self._color = color
        self._waiting: queue.Queue[bytes | None] = queue.Queue(MAX_WAITING)
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._writer.start()

    def show(self, event: HostEvent) -> None:
        """Print the event, if its level is worth it."""
        if event.level < self._level:
            return
        site = event.failure.site if event.failure is not None else None
        where = f" ({near(site)})" if site is not None else ""
        line = f"{_now()} {event.actor.name} {format_key(event.actor.key)}: {event.text}{where}"
        self._put(self._colored(visible(line), event.level))

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


def set_up_logging(level: str) -> None:
    """Show the actors' own log records, and warnings of everything else, unless the registry has set that up.

    They go to standard error, as all that the user's code prints.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    if not logging.root.handlers:
        logging.root.addHandler(handler)
        logging.root.setLevel(logging.DEBUG if level == "debug" else logging.WARNING)
    logging.getLogger("rivetpy").setLevel(_LEVELS[level])


class _Lines(logging.Formatter):
    """Time, level, whose record it is, and the text; a traceback as it is."""

    def format(self, record: logging.LogRecord) -> str:
        actor = getattr(record, "actor", None)
        whose = f"{actor} {getattr(record, 'key', '')}" if actor else record.name
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        line = f"{_now()} {visible(whose)}: {level}{visible(record.getMessage())}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


def _now() -> str:
    return time.strftime("%H:%M:%S")
