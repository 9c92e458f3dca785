"""What the user's code logs, as `rivet dev` shows it: whose it is, as lines or as JSON, and nothing said twice."""

from __future__ import annotations

import logging
import sys
import traceback

from rivetpy.cli.loading import user_traceback
from rivetpy.cli.logline import LEVELS, clock, object_line
from rivetpy.cli.printed import unwrapped
from rivetpy.cli.text import visible
from rivetpy.workflow.failure import is_user_code
from rivetpy.workflow.speaking import speaker

#: How a line of a traceback begins that names a place.
_FRAME = '  File "'


def set_up_logging(level: str, log_format: str) -> None:
    """Show what the user's code logs by any logger, and warnings of everything else, unless the registry has set
    that up. It goes to standard error, as all that the user's code prints."""
    handler = logging.StreamHandler(unwrapped(sys.stderr))
    handler.setFormatter(_Objects() if log_format == "json" else _Lines())
    handler.addFilter(_Worth(LEVELS[level]))
    if not logging.root.handlers:
        logging.root.addHandler(handler)
        logging.root.setLevel(LEVELS[level])
    logging.getLogger("rivetpy").setLevel(LEVELS[level])


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
    """Time, level, whose record it is, and the text, with what went wrong."""

    def format(self, record: logging.LogRecord) -> str:
        actor = getattr(record, "actor", None)
        whose = f"{actor} {getattr(record, 'key', '')}" if actor else record.name
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        line = f"{clock()} {visible(whose)}: {level}{visible(record.getMessage())}"
        return "\n".join([line, *map(visible, _traceback(record))])


class _Objects(logging.Formatter):
    """One JSON object a line; a traceback is part of the message."""

    def format(self, record: logging.LogRecord) -> str:
        message = "\n".join([record.getMessage(), *_traceback(record)])
        return object_line(
            record.levelno, message, getattr(record, "actor", None), getattr(record, "key", None)
        )


def _traceback(record: logging.LogRecord) -> list[str]:
    """The lines of the record's traceback: the user's own frames where there are some, else all of them."""
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return []
    theirs = user_traceback(error)
    text = theirs if _FRAME in theirs else "".join(traceback.format_exception(error))
    return text.rstrip("\n").split("\n")
