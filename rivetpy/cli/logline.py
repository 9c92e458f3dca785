"""What a line of the log has, for people or for programs. The parent of `rivet dev` imports nothing heavier for it."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime

from rivetpy.cli.text import json_text
from rivetpy.wire.jsonvalue import JsonObject

LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


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
