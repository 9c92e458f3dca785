"""Loggers that name their actor."""

from __future__ import annotations

import logging


def actor_log(name: str, key: str) -> logging.LoggerAdapter[logging.Logger]:
    """A logger that puts the actor's name and key into every record."""
    return logging.LoggerAdapter(logging.getLogger("rivetpy.actor"), {"actor": name, "key": key})
