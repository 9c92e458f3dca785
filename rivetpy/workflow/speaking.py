"""Whose code runs now: so that what it logs, by whatever logger, can be told apart, and is quiet while it repeats."""

from __future__ import annotations

import logging
from contextvars import ContextVar

#: The log of the actor whose code runs; not enabled while a workflow only replays.
speaker: ContextVar[logging.LoggerAdapter[logging.Logger] | None] = ContextVar("speaker", default=None)
