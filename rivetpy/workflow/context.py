"""The menu of a workflow: every verb as one short method (spec workflows)."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn

from rivetpy.codec import Value
from rivetpy.identity import Key
from rivetpy.workflow import loop as loops
from rivetpy.workflow import receive as receives
from rivetpy.workflow import sleep as sleeps
from rivetpy.workflow import step as steps
from rivetpy.workflow.duration import Duration, deadline, milliseconds, moment
from rivetpy.workflow.errors import QueueTimeoutError, WorkflowUsageError
from rivetpy.workflow.receive import QueueMessage, ReceiveOptions
from rivetpy.workflow.run import BoundFunction
from rivetpy.workflow.scope import Scope

#: Names that belong to steps: reading them between verbs could not be replayed.
_STEP_ONLY = frozenset({"state", "vars", "db", "kv", "client", "broadcast", "schedule"})


class WorkflowContext:
    """What a workflow function, and each iteration of a loop, is handed.

    Code between verbs must be deterministic: it runs again when the workflow wakes up cold, while verbs that
    are recorded return their recorded value.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.queue = WorkflowQueue(scope)

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
    ) -> Value:
        """Run ``function(step_ctx, *args)`` once and record its result (spec workflows 3).

        An ``async def`` runs on the event loop, a ``def`` in a thread. A failed attempt is tried again up to
        ``max_retries`` times, after min(retry_backoff_max, retry_backoff_base * 2**attempts) seconds. ``timeout``
        is per attempt (0 or None: none) and final unless ``retry_on_timeout``. An ``ephemeral`` step is recorded
        with the next thing that is.

        Raises `StepExhaustedError`, `StepCriticalError` or `StepTimeoutError`.
        """
        try:
            options = steps.options(
                max_retries, retry_backoff_base, retry_backoff_max, timeout, retry_on_timeout, ephemeral
            )
        except (TypeError, ValueError) as error:
            raise type(error)(f"step {name!r}: {error}") from None
        return await steps.step(self._scope, name, function, args, options)

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

    async def sleep(self, name: str, duration: Duration) -> None:
        """Wait for seconds or a timedelta; the deadline is recorded once and outlives restarts (spec workflows 6)."""
        now = self._scope.run.port.clock.now()
        await sleeps.sleep(self._scope, name, deadline(now, milliseconds(duration, f"sleep {name!r}")))

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
        return self._scope.run.port.log

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
        raise AttributeError(f"a workflow context has no {name!r}")


class WorkflowQueue:
    """The actor's queues, from the workflow (spec workflows 7)."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

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
        raise AttributeError(f"a workflow's queue has no {name!r}")


def bind(function: Callable[[WorkflowContext], Awaitable[Value]]) -> BoundFunction:
    """The user's function as a run calls it: with the root scope of a pass."""
    return lambda scope: function(WorkflowContext(scope))
