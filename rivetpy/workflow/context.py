"""The menu of a workflow: every verb as one short method (spec workflows)."""

from __future__ import annotations

import datetime as dt
import inspect
import logging
import uuid as uuids
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NoReturn, TypedDict, Unpack, cast

from rivetpy.codec import Value
from rivetpy.errors import did_you_mean
from rivetpy.identity import Key
from rivetpy.workflow import caught, evolve, recorded
from rivetpy.workflow import join as joins
from rivetpy.workflow import loop as loops
from rivetpy.workflow import race as races
from rivetpy.workflow import receive as receives
from rivetpy.workflow import rollback as rollbacks
from rivetpy.workflow import sleep as sleeps
from rivetpy.workflow import step as steps
from rivetpy.workflow.caught import (
    STEP_KINDS,
    BlockFailure,
    BlockSource,
    Failed,
    Ok,
    StepFailure,
    StepKind,
    check_catch,
    step_failure,
)
from rivetpy.workflow.duration import Duration, deadline, milliseconds, moment
from rivetpy.workflow.errors import QueueTimeoutError, StepError, WorkflowUsageError
from rivetpy.workflow.promise import promised
from rivetpy.workflow.receive import QueueMessage, ReceiveOptions
from rivetpy.workflow.run import BoundFunction, RollbackHandler
from rivetpy.workflow.scope import Scope
from rivetpy.workflow.speaking import speaker

#: Names that belong to steps: reading them between verbs could not be replayed.
_STEP_ONLY = frozenset({"state", "vars", "db", "kv", "client", "broadcast", "schedule"})


class TryOptions(TypedDict, total=False):
    """The options of `WorkflowContext.step`, as `try_step` passes them on."""

    max_retries: int
    retry_backoff_base: Duration
    retry_backoff_max: Duration
    timeout: Duration | None
    retry_on_timeout: bool
    ephemeral: bool
    rollback: RollbackHandler | None


class WorkflowContext:
    """What a workflow function, and each iteration of a loop, is handed.

    Code between verbs must be deterministic: it runs again when the workflow wakes up cold, while verbs that
    are recorded return their recorded value.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.queue = WorkflowQueue(scope)
        speaker.set(ReplayLog(scope))

    @promised
    async def step(
        self,
        name: str,
        function: Callable[..., Value],
        *args: Value,
        max_retries: int = 3,
        retry_backoff_base: Duration = 0.1,
        retry_backoff_max: Duration = 30,
        timeout: Duration | None = 30,
        retry_on_timeout: bool = False,
        ephemeral: bool = False,
        rollback: RollbackHandler | None = None,
    ) -> Value:
        """Run ``function(step_ctx, *args)`` once and record its result (spec workflows 3).

        An ``async def`` runs on the event loop, a ``def`` in a thread. A failed attempt is tried again up to
        ``max_retries`` times, after min(retry_backoff_max, retry_backoff_base * 2**attempts) seconds. ``timeout``
        is per attempt (0 or None: none) and final unless ``retry_on_timeout``. An ``ephemeral`` step is recorded
        with the next thing that is. ``rollback(step, output)`` undoes the step when the workflow fails later;
        it needs `rollback_checkpoint` before it.

        Raises `StepExhaustedError`, `StepCriticalError`, `StepTimeoutError` or `StepRollbackError`.
        """
        try:
            options = steps.options(
                max_retries, retry_backoff_base, retry_backoff_max, timeout, retry_on_timeout, ephemeral
            )
        except (TypeError, ValueError) as error:
            raise type(error)(f"step {name!r}: {error}") from None
        return await steps.step(self._scope, name, function, args, options, rollback)

    @promised
    async def loop(
        self,
        name: str,
        function: Callable[..., Value],
        *,
        state: Value = loops.STATELESS,
        history_prune_interval: int = loops.DEFAULT_PRUNE_INTERVAL,
        history_size: int | None = None,
    ) -> Value:
        """Call ``function(loop_ctx)``, or ``function(loop_ctx, state)``, until it breaks (spec workflows 5).

        Returns the value given to `Loop.break_`. Every ``history_prune_interval`` iterations, those older than
        ``history_size`` (default: the interval) are forgotten.
        """

        def iterate(scope: Scope, carried: Value) -> Value:
            context = WorkflowContext(scope)
            return function(context) if carried is loops.STATELESS else function(context, carried)

        return await loops.loop(self._scope, name, iterate, state, history_prune_interval, history_size)

    @promised
    async def try_step(
        self,
        name: str,
        function: Callable[..., Value],
        *args: Value,
        catch: Collection[StepKind] = ("critical", "timeout", "exhausted"),
        **options: Unpack[TryOptions],
    ) -> Ok[Value] | Failed[StepFailure]:
        """A step whose failure is a value (spec workflows 4): `Ok(value)` or `Failed(failure)`.

        ``catch`` says which kinds of failure; ``options`` are those of `step`.
        """
        check_catch("try_step", name, catch, STEP_KINDS)
        try:
            return Ok(await self.step(name, function, *args, **options))
        except StepError as error:
            return step_failure(error, catch)

    @promised
    async def try_block(
        self,
        name: str,
        function: Callable[[WorkflowContext], Value],
        *,
        catch: Collection[BlockSource] = ("step", "join", "race"),
    ) -> Ok[Value] | Failed[BlockFailure]:
        """Run ``function(block_ctx)`` as a scope whose failure is a value (spec workflows 4).

        ``catch`` says what in it may have failed: a step, a join, a race, or anything else ("block").
        """
        return await caught.try_block(self._scope, name, _framed(function), catch)

    @promised
    async def join(
        self, name: str, branches: Mapping[str, Callable[[WorkflowContext], Value]]
    ) -> dict[str, Value]:
        """Run branches at once, each as ``function(branch_ctx)``; their results by name (spec workflows 8).

        All of them finish. Raises `JoinError` with the failure of each branch that failed.
        """
        return await joins.join(self._scope, name, _framed_all(branches))

    @promised
    async def race(
        self, name: str, branches: Mapping[str, Callable[[WorkflowContext], Value]]
    ) -> tuple[str, Value]:
        """Run branches at once; the name and the result of the first to complete (spec workflows 8).

        The others are cancelled: when this returns, their ``finally`` ran and nothing of them is left. Raises
        `RaceError` when every branch failed.
        """
        return await races.race(self._scope, name, _framed_all(branches))

    @promised
    async def rollback_checkpoint(self, name: str) -> None:
        """From here on, in this scope and those within, steps with ``rollback`` are undone when the workflow fails
        (spec workflows 9)."""
        await rollbacks.rollback_checkpoint(self._scope, name)

    @promised
    async def removed(self, name: str, original_type: str) -> None:
        """Stand where an entry was in older code: ``step``, ``loop``, ``sleep``, … (spec workflows 10)."""
        await evolve.removed(self._scope, name, original_type)

    @promised
    async def get_version(self, name: str, latest: int) -> int:
        """Which version of the code here this run is held to (spec workflows 10).

        ``latest`` for a run that comes here fresh; 1 for one that had passed under older code. Recorded once; each
        loop iteration decides for itself.
        """
        return await evolve.get_version(self._scope, name, latest)

    @promised
    async def now(self, name: str) -> dt.datetime:
        """The time, recorded: aware, in UTC."""
        return await recorded.now(self._scope, name)

    @promised
    async def random(self, name: str) -> float:
        """A random number from 0 to 1, recorded. Not for secrets."""
        return await recorded.random(self._scope, name)

    @promised
    async def uuid(self, name: str) -> uuids.UUID:
        """A random UUID, recorded."""
        return await recorded.uuid(self._scope, name)

    @promised
    async def sleep(self, name: str, duration: Duration) -> None:
        """Wait for seconds or a timedelta; the deadline is recorded once and outlives restarts (spec workflows 6)."""
        now = self._scope.run.port.clock.now()
        await sleeps.sleep(self._scope, name, deadline(now, milliseconds(duration, f"sleep {name!r}")))

    @promised
    async def sleep_until(self, name: str, when: dt.datetime | float) -> None:
        """Wait until an aware datetime or epoch seconds (spec workflows 6)."""
        await sleeps.sleep(self._scope, name, moment(when, f"sleep_until {name!r}"))

    @property
    def is_replaying(self) -> bool:
        """Whether what comes next is already recorded."""
        return self._scope.replaying

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger that names the actor and is silent while replaying."""
        return ReplayLog(self._scope)

    @property
    def actor_id(self) -> str:
        """The actor's random id."""
        return self._scope.run.port.actor_id

    @property
    def name(self) -> str:
        """The actor's name."""
        return self._scope.run.port.name

    @property
    def key(self) -> Key:
        """The actor's key."""
        return self._scope.run.port.key

    @property
    def input(self) -> Value:
        """What the actor was created with."""
        return self._scope.run.port.input

    def __getattr__(self, name: str) -> NoReturn:
        if name in _STEP_ONLY:
            raise WorkflowUsageError(
                f"ctx.{name} can't be reached between steps, where nothing is recorded. Use it in a step: "
                f"await ctx.step('…', fn), and step.{name} inside fn."
            )
        raise AttributeError(f"a workflow context has no {name!r}. {did_you_mean(name, _menu(type(self)))}")


class WorkflowQueue:
    """The actor's queues, from the workflow (spec workflows 7)."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    @promised
    async def next(
        self,
        name: str,
        names: Sequence[str] | None = None,
        *,
        timeout: Duration | None = None,
        completable: bool = False,
    ) -> QueueMessage:
        """Wait for one message of the queues in ``names`` (all when omitted), in order of arrival.

        ``name`` is the journal name of the wait. Raises `QueueTimeoutError` at the timeout.
        """
        messages = await self._receive(name, names, 1, timeout, completable)
        if not messages:
            raise QueueTimeoutError(name)
        return messages[0]

    @promised
    async def next_batch(
        self,
        name: str,
        names: Sequence[str] | None = None,
        *,
        count: int = 1,
        timeout: Duration | None = None,
        completable: bool = False,
    ) -> list[QueueMessage]:
        """Wait for 1 to ``count`` messages; [] when the timeout comes first."""
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ValueError(f"wait {name!r}: count is a whole number from 1, not {count!r}")
        return await self._receive(name, names, count, timeout, completable)

    async def _receive(
        self, name: str, names: Sequence[str] | None, count: int, timeout: Duration | None, completable: bool
    ) -> list[QueueMessage]:
        queues = [names] if isinstance(names, str) else None if names is None else list(names)
        if queues == []:
            raise ValueError(f"wait {name!r}: names is empty; leave it out to wait for all queues")
        wait_ms = None if timeout is None else milliseconds(timeout, f"wait {name!r}, timeout")
        options = ReceiveOptions(queues, count, wait_ms, completable)
        return await receives.receive(self._scope, name, options)

    def __getattr__(self, name: str) -> NoReturn:
        if name == "send":
            raise WorkflowUsageError(
                "ctx.queue.send belongs into a step: await step.queue.send(queue, body)."
            )
        raise AttributeError(f"a workflow's queue has no {name!r}. {did_you_mean(name, _menu(type(self)))}")


def _menu(context: type) -> list[str]:
    """What a context offers."""
    return [name for name in vars(context) if not name.startswith("_")]


class ReplayLog(logging.LoggerAdapter[logging.Logger]):
    """The actor's logger, silent while recorded entries are still to come and when nothing new may."""

    def __init__(self, scope: Scope) -> None:
        log = scope.run.port.log
        super().__init__(log.logger, log.extra)
        self._scope = scope

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - logging's name
        return not (self._scope.replaying or self._scope.run.dry) and super().isEnabledFor(level)


def _framed(function: Callable[[WorkflowContext], Value]) -> Callable[[Scope], Value]:
    """The user's function of a branch or block, as the kernel calls it: with its scope."""
    return lambda scope: function(WorkflowContext(scope))


def _framed_all(
    branches: Mapping[str, Callable[[WorkflowContext], Value]],
) -> Mapping[str, Callable[[Scope], Value]]:
    """The branches as the kernel calls them; anything that is none is left for the verb to refuse by name."""
    items = getattr(branches, "items", None)
    if items is None:
        return cast(Mapping[str, Callable[[Scope], Value]], branches)
    return {name: _framed(function) if callable(function) else function for name, function in items()}


def bind(function: Callable[[WorkflowContext], Awaitable[Value]]) -> BoundFunction:
    """The user's function as a run calls it: with the root scope of a pass."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    site = f"{code.co_filename}:{code.co_firstlineno}" if code is not None else repr(function)
    return BoundFunction(lambda scope: function(WorkflowContext(scope)), site)
