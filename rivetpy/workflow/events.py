"""What a workflow tells whoever watches it: values, not log lines."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from rivetpy.workflow.failure import Failure


@dataclass(frozen=True, slots=True)
class Event:
    """Something worth seeing: ``kind`` is stable, ``text`` is for people."""

    kind: str
    text: str
    level: int = logging.INFO
    location: str | None = None
    failure: Failure | None = None


def step_failed(location: str, attempts: int, allowed: int, failure: Failure, delay_ms: int | None) -> Event:
    """An attempt failed; ``delay_ms`` until the next one, None when there is none."""
    then = "no more attempts" if delay_ms is None else f"next in {delay_ms / 1000:g} s"
    return Event(
        "step_failed",
        f"step {location} failed, attempt {attempts} of {allowed}, {then}: {failure}",
        logging.WARNING,
        location,
        failure,
    )


def step_crashed(location: str, attempts: int, allowed: int) -> Event:
    """The engine ended uncleanly in this step; that counted as an attempt."""
    return Event(
        "step_crashed",
        f"step {location} was running when the engine died; counted as attempt {attempts} of {allowed}",
        logging.WARNING,
        location,
    )


def rolled_back(location: str, problem: Failure | None) -> Event:
    """A rollback handler ran; ``problem`` is why it failed."""
    if problem is None:
        return Event("step_rolled_back", f"step {location} was rolled back", location=location)
    text = f"the rollback of step {location} failed: {problem}"
    return Event("rollback_failed", text, logging.ERROR, location, problem)


def signal_swallowed(what: str) -> Event:
    """User code caught the engine's signal."""
    return Event(
        "signal_swallowed",
        f"the workflow swallowed the engine's signal and {what}, which was ignored: a bare `except` or "
        "`except BaseException` around a verb must re-raise",
        logging.ERROR,
    )
