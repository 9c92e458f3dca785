"""Loggers that name their actor."""

from __future__ import annotations

import logging
from collections.abc import Callable

from rivetpy.workflow.run import Run


def actor_log(name: str, key: str) -> logging.LoggerAdapter[logging.Logger]:
    """A logger that puts the actor's name and key into every record."""
    return logging.LoggerAdapter(logging.getLogger("rivetpy.actor"), {"actor": name, "key": key})


class WorkflowLog(logging.LoggerAdapter[logging.Logger]):
    """An actor's logger for its workflow: silent while that replays."""

    def __init__(self, log: logging.LoggerAdapter[logging.Logger], run: Callable[[], Run | None]) -> None:
        super().__init__(log.logger, log.extra)
        self._run = run

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - logging's name
        run = self._run()
        return not (run is not None and run.replaying) and super().isEnabledFor(level)
