"""What a workflow tells whoever watches it: values, not log lines."""

from __future__ import annotations

import logging
from collections.abc import Callable
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


@dataclass(frozen=True, slots=True)
class StepErrorEvent:
    """An attempt of a step failed and is recorded. Delays are seconds, ``retry_at`` is epoch ms."""

    step_name: str
    location: str
    attempt: int
    max_retries: int
    will_retry: bool
    retry_delay: float | None
    retry_at: int | None
    error: Failure

    @property
    def remaining_retries(self) -> int:
        """How many attempts may still follow."""
        return max(0, self.max_retries + 1 - self.attempt) if self.will_retry else 0


@dataclass(frozen=True, slots=True)
class RollbackErrorEvent:
    """The rollback handler of a step failed; the remaining ones wait for a recover."""

    step_name: str
    location: str
    error: Failure


@dataclass(frozen=True, slots=True)
class WorkflowErrorEvent:
    """The workflow failed for good."""

    error: Failure


ErrorEvent = StepErrorEvent | RollbackErrorEvent | WorkflowErrorEvent
#: ``on_error`` of a workflow: a function of an event, ``def`` or ``async def``.
ErrorHook = Callable[[ErrorEvent], object]


def hook_failed(failure: Failure) -> Event:
    """The on_error hook itself raised."""
    return Event(
        "hook_failed", f"on_error raised, which is ignored: {failure}", logging.ERROR, failure=failure
    )


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


def rollback_crashed(location: str, attempts: int, allowed: int) -> Event:
    """The engine ended uncleanly in this step's rollback handler; that counted as an attempt."""
    return Event(
        "rollback_crashed",
        f"the rollback of step {location} was running when the engine died; "
        f"counted as attempt {attempts} of {allowed}",
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
