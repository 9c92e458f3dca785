"""Loggers that name their actor."""

from __future__ import annotations

import logging

Log = logging.LoggerAdapter[logging.Logger]


def actor_log(name: str, key: str) -> Log:
    """A logger that puts the actor's name and key into every record."""
    return logging.LoggerAdapter(logging.getLogger("rivetpy.actor"), {"actor": name, "key": key})
