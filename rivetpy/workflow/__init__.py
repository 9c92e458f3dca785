"""Workflows: functions whose every step is recorded (spec workflows)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rivetpy.codec import Value
from rivetpy.errors import DefinitionError
from rivetpy.workflow.caught import BlockFailure, Failed, Ok, StepFailure
from rivetpy.workflow.context import WorkflowContext
from rivetpy.workflow.errors import (
    CriticalError,
    Evicted,
    HistoryDivergedError,
    JoinError,
    QueueTimeoutError,
    RaceError,
    RollbackCheckpointError,
    RollbackError,
    StepCriticalError,
    StepError,
    StepExhaustedError,
    StepRollbackError,
    StepTimeoutError,
    WorkflowUsageError,
)
from rivetpy.workflow.events import (
    ErrorEvent,
    ErrorHook,
    RollbackErrorEvent,
    StepErrorEvent,
    WorkflowErrorEvent,
)
from rivetpy.workflow.failure import Failure
from rivetpy.workflow.loop import Break, Continue, Loop
from rivetpy.workflow.receive import QueueMessage
from rivetpy.workflow.stepcontext import StepContext

__all__ = [
    "BlockFailure",
    "Break",
    "Continue",
    "CriticalError",
    "ErrorEvent",
    "ErrorHook",
    "Evicted",
    "Failed",
    "Failure",
    "HistoryDivergedError",
    "JoinError",
    "Loop",
    "Ok",
    "QueueMessage",
    "QueueTimeoutError",
    "RaceError",
    "RollbackCheckpointError",
    "RollbackError",
    "RollbackErrorEvent",
    "StepContext",
    "StepCriticalError",
    "StepError",
    "StepErrorEvent",
    "StepExhaustedError",
    "StepFailure",
    "StepRollbackError",
    "StepTimeoutError",
    "Workflow",
    "WorkflowContext",
    "WorkflowErrorEvent",
    "WorkflowUsageError",
    "workflow",
]

WorkflowFunction = Callable[[WorkflowContext], Awaitable[Value]]


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow function, to be given to `rivetpy.actor` as ``run``."""

    function: WorkflowFunction
    on_error: ErrorHook | None = None


def workflow(function: WorkflowFunction | Workflow, *, on_error: ErrorHook | None = None) -> Workflow:
    """Make an ``async def run(ctx)`` the workflow of an actor.

    ``on_error(event)`` is called for every failed attempt, failed rollback handler and failed workflow, once each
    and never while replaying; what it raises is logged and ignored (spec workflows 12).

    Raises `DefinitionError` for a function that is not ``async def`` or takes no context.
    """
    if isinstance(function, Workflow):
        return function
    name = getattr(function, "__qualname__", repr(function))
    if not callable(function) or not inspect.iscoroutinefunction(function):
        raise DefinitionError(f"workflow({name}) needs an async function: write `async def {name}(ctx): …`.")
    required = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty and parameter.kind in _POSITIONAL
    ]
    if len(required) != 1 and not any(
        parameter.kind is parameter.VAR_POSITIONAL
        for parameter in inspect.signature(function).parameters.values()
    ):
        raise DefinitionError(
            f"workflow({name}) takes exactly one argument, the context: `async def {name}(ctx)`."
        )
    if on_error is not None and not callable(on_error):
        raise DefinitionError(f"workflow({name}): on_error is a function of an event, not {on_error!r}.")
    return Workflow(function, on_error)


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
