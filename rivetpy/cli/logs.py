"""What the user's code logs, as `rivet dev` shows it: whose it is, as lines or as JSON, and nothing said twice."""

from __future__ import annotations

import logging
import sys
import time
from datetime import UTC, datetime

from rivetpy.cli.text import json_text, visible
from rivetpy.wire.jsonvalue import JsonObject
from rivetpy.workflow.failure import is_user_code
from rivetpy.workflow.speaking import speaker

LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def set_up_logging(level: str, log_format: str) -> None:
    """Show what the user's code logs by any logger, and warnings of everything else, unless the registry has set
    that up. It goes to standard error, as all that the user's code prints."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Objects() if log_format == "json" else _Lines())
    handler.addFilter(_Worth(LEVELS[level]))
    if not logging.root.handlers:
        logging.root.addHandler(handler)
        logging.root.setLevel(LEVELS[level])
    logging.getLogger("rivetpy").setLevel(LEVELS[level])


def clock() -> str:
    """The time of a line for people."""
    return time.strftime("%H:%M:%S")


def object_line(level: int, message: str, actor: str | None = None, key: str | None = None) -> str:
    """A line for programs."""
    told: JsonObject = {
        "ts": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "level": logging.getLevelName(level).lower(),
        "message": message,
    }
    return json_text(told if actor is None else {**told, "actor": actor, "key": key})


class _Worth(logging.Filter):
    """Names the actor whose code logs, and leaves out what a workflow said before, and the small talk of libraries."""

    def __init__(self, level: int) -> None:
        super().__init__()
        self._level = level

    def filter(self, record: logging.LogRecord) -> bool:
        whose = speaker.get()
        if whose is not None and not hasattr(record, "actor"):
            if not whose.isEnabledFor(logging.CRITICAL):  # it only repeats itself
                return False
            vars(record).update(whose.extra or {})
        if self._level <= logging.DEBUG or record.levelno >= logging.WARNING:
            return True
        return record.name.startswith("rivetpy.") or is_user_code(record.pathname)


class _Lines(logging.Formatter):
    """Time, level, whose record it is, and the text; a traceback as it is."""

    def format(self, record: logging.LogRecord) -> str:
        actor = getattr(record, "actor", None)
        whose = f"{actor} {getattr(record, 'key', '')}" if actor else record.name
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        line = f"{clock()} {visible(whose)}: {level}{visible(record.getMessage())}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


class _Objects(logging.Formatter):
    """One JSON object a line; a traceback is part of the message."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if record.exc_info:
            message += "\n" + self.formatException(record.exc_info)
        return object_line(
            record.levelno, message, getattr(record, "actor", None), getattr(record, "key", None)
        )
