"""A workflow in memory: what its verbs share, how it waits, and how it is told to leave."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rivetpy.codec import Value
from rivetpy.errors import EncodeError, StoreError
from rivetpy.unbroken import finished
from rivetpy.workflow import events
from rivetpy.workflow.entries import Message, StepEntry
from rivetpy.workflow.errors import Evicted, HistoryDivergedError, WorkflowUsageError
from rivetpy.workflow.events import ErrorEvent, ErrorHook
from rivetpy.workflow.failure import Failure, failure_of
from rivetpy.workflow.journal import Journal
from rivetpy.workflow.port import ActorData, Port
from rivetpy.workflow.scope import Scope, is_cancelled
from rivetpy.workflow.waits import Wait


@dataclass(frozen=True, slots=True)
class BoundFunction:
    """The workflow function, waiting for the root scope of a pass; ``site`` is its file:line."""

    call: Callable[[Scope], Awaitable[Value]]
    site: str


#: Called as ``handler(step, output)``.
RollbackHandler = Callable[..., Value]


class Run:
    """One workflow function over one journal, until it ends or is put away; `runner.execute` runs it.

    ``crashed`` says that the engine ended uncleanly while this workflow was awake. ``always_replay`` turns every wait
    into leaving the function and running it again from the top, which must change nothing. ``failing`` is set when it
    had failed and was being rolled back.
    """

    def __init__(
        self,
        function: BoundFunction,
        journal: Journal,
        port: Port,
        *,
        crashed: bool = False,
        always_replay: bool = False,
        failing: Failure | None = None,
        rewound_at: int = 0,
        on_error: ErrorHook | None = None,
    ) -> None:
        self.function = function.call
        self.function_site = function.site
        self.journal = journal
        self.port = port
        self.crashed = crashed
        self.failing = failing
        #: Which rewind the workflow runs after (0: none): what runs again is another execution to the outside.
        self.rewound_at = rewound_at
        self._on_error = on_error
        #: The pass is being left: verbs refuse.
        self.leaving = False
        #: The run is being put away for good.
        self.closing = False
        #: What still runs is being cancelled: the time to leave in peace is over.
        self.given_up = False
        self.diverged: HistoryDivergedError | None = None
        self.refused: StoreError | None = None
        #: How verbs were used that could not be replayed, even if user code swallows the error.
        self.misuse: str | None = None
        self.waits: dict[Wait, asyncio.Future[None]] = {}
        #: With `always_replay`: what the pass was left for.
        self.held: tuple[Wait, ...] = ()
        #: The steps whose bodies are running; a first attempt is in no journal yet.
        self.working: dict[str, StepEntry] = {}
        #: How often the journal went on in this life.
        self.commits = 0
        #: The pass goes no further than the journal: nothing new begins, nothing is written.
        self.dry = False
        #: A dry pass that goes over everything that is kept, to collect rollback handlers.
        self.rolling_back = False
        self.handlers: list[tuple[StepEntry, RollbackHandler]] = []
        #: How many flows (the function, its branches) are not waiting for branches of theirs.
        self._flows = 1
        self._always_replay = always_replay

    def begin_pass(self) -> None:
        """The function starts from the top."""
        self.leaving = self.closing
        self.waits.clear()
        self.held = ()
        self.misuse = None
        self.handlers.clear()
        self._flows = 1

    # -- leaving -----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Put the run away: what waits is woken to leave; what runs leaves at its next verb."""
        self.closing = True
        self.leave()

    def leave(self) -> None:
        """End the pass: every flow that waits leaves now, every other one at its next verb."""
        self.leaving = True
        for future in self.waits.values():
            if not future.done():
                future.set_exception(Evicted())

    @property
    def in_peace(self) -> bool:
        """Whether the pass is left, and what still runs may finish first."""
        return self.leaving and self.diverged is None and self.refused is None

    def diverge(self, error: HistoryDivergedError) -> HistoryDivergedError:
        """Remember that the code does not fit, even if user code swallows the error."""
        self.diverged = self.diverged or error
        self.leave()
        return error

    def refuse(self, error: StoreError) -> Evicted:
        """The store refused a commit: memory and disk differ now, so the run must be put away."""
        self.refused = error
        self.leave()
        return Evicted()

    def misused(self, message: str) -> WorkflowUsageError:
        """Remember that verbs were used in a way that could not be replayed: the workflow fails with this."""
        self.misuse = self.misuse or message
        return WorkflowUsageError(message)

    def check_misuse(self) -> None:
        """Raise again what user code swallowed."""
        if self.misuse is None:
            return
        if is_cancelled():
            raise asyncio.CancelledError  # whatever cancels this task is not over
        raise WorkflowUsageError(self.misuse)

    # -- committing --------------------------------------------------------------------------------------

    def hand_in(self, data: ActorData | None = None) -> asyncio.Future[None]:
        """Begin to commit what was put off, with the changes made through ``data``; to be given to `durable`.

        Raises `EncodeError` when the state can't be stored (nothing is lost).
        """
        batch = self.journal.take()
        try:
            written = self.port.commit(batch, data)
        except EncodeError:
            self.journal.put_back(batch)
            raise
        self.commits += 1
        return written

    async def durable(self, written: asyncio.Future[None]) -> None:
        """Wait until what was handed in is durable. Raises `Evicted` when the store refuses."""
        try:
            await finished(written)
        except StoreError as error:
            raise self.refuse(error) from error

    async def flush(self, data: ActorData | None = None) -> None:
        """Commit what was put off, and the changes made through ``data``.

        Raises `EncodeError` when the state can't be stored (nothing is lost), `Evicted` when the store refuses.
        """
        if self.journal.uncommitted:
            await self.durable(self.hand_in(data))

    async def complete(self, message: Message, response: bytes) -> None:
        """Commit what is written with the message's removal, and answer its sender."""
        try:
            await self.port.complete(self.journal.take(), message, response)
        except StoreError as error:
            raise self.refuse(error) from error
        self.commits += 1

    async def begin_rollback(self, failure: Failure) -> None:
        """Make it durable that the run failed and is being rolled back, before any handler runs."""
        try:
            await self.port.begin_rollback(self.journal.take(), failure)
        except StoreError as error:
            raise self.refuse(error) from error

    async def tell(self, event: ErrorEvent) -> None:
        """Call the workflow's on_error hook; what it raises is reported and ignored."""
        if self._on_error is None:
            return
        try:
            result = self._on_error(event)
            if inspect.isawaitable(result):
                await result
        except Exception as error:
            self.port.report(events.hook_failed(failure_of(error)))

    # -- waiting -----------------------------------------------------------------------------------------

    @property
    def resting(self) -> bool:
        """Whether every flow waits for a moment or a message."""
        return len(self.waits) >= self._flows

    def branches_begin(self, count: int) -> None:
        """A flow begins to wait for ``count`` branches."""
        self._flows += count - 1

    def branch_ended(self, *, last: bool, decided: bool) -> None:
        """A branch is over; the ``last`` one of its siblings hands on to the flow that waits for them.

        ``decided``: that flow goes on whatever the others do.
        """
        if last:
            return
        self._flows -= 1
        if self._always_replay and not decided and not self.leaving and self.waits and self.resting:
            self._hold()

    def ready(self, wait: Wait) -> bool:
        """Whether what is waited for may have come."""
        if wait.deadline is not None and wait.deadline <= self.port.clock.now():
            return True
        return wait.reason == "message" and self.port.waiting(wait.queues)

    def notify(self, queue: str) -> None:
        """A message arrived in a queue: wake what waits for it."""
        for wait, future in self.waits.items():
            if wait.takes(queue) and not future.done():
                future.set_result(None)

    async def suspend(self, wait: Wait) -> None:
        """Wait in memory; or, with ``always_replay``, leave the pass once every flow waits."""
        if self._always_replay and len(self.waits) + 1 >= self._flows and not self.leaving:
            self._hold(wait)
            raise Evicted
        await self._block(wait)

    def _hold(self, *more: Wait) -> None:
        self.held = (*self.waits, *more)
        self.leave()

    async def block_on_held(self) -> None:
        """Wait until one of the things the last pass was left for may have come. Raises `Evicted` on `close`."""
        held, self.held, self.leaving = self.held, (), self.closing
        self.waits.clear()
        blocks = [asyncio.ensure_future(self._block(wait)) for wait in held]
        try:
            await asyncio.wait(blocks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for block in blocks:
                block.cancel()
            await asyncio.gather(*blocks, return_exceptions=True)
        if self.closing:
            self.waits.update((wait, asyncio.get_running_loop().create_future()) for wait in held)
            raise Evicted

    async def _block(self, wait: Wait) -> None:
        if self.leaving:
            raise Evicted
        if self.ready(wait):
            return
        future = asyncio.get_running_loop().create_future()
        self.waits[wait] = future
        alarm = None if wait.deadline is None else self.port.clock.call_at(wait.deadline, _resolve(future))
        try:
            await future
        except Evicted:
            raise  # what it was put away waiting for stays to be seen
        except BaseException:
            self.waits.pop(wait, None)
            raise
        else:
            self.waits.pop(wait, None)  # it came, even if the run is put away in the same moment
        finally:
            if alarm is not None:
                alarm.cancel()


def _resolve(future: asyncio.Future[None]) -> Callable[[], None]:
    def resolve() -> None:
        if not future.done():
            future.set_result(None)

    return resolve
