"""One life of a workflow function in memory: passes over its journal, waits, and the outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rivetpy import codec
from rivetpy.clock import Alarm
from rivetpy.codec import Value
from rivetpy.errors import EncodeError, StoreError
from rivetpy.workflow import events
from rivetpy.workflow.entries import Entry, Message
from rivetpy.workflow.errors import Evicted, HistoryDivergedError, Signal
from rivetpy.workflow.failure import Failure, failure_of
from rivetpy.workflow.journal import Journal
from rivetpy.workflow.location import ROOT
from rivetpy.workflow.port import ActorData, Port
from rivetpy.workflow.scope import Scope

#: The workflow function, waiting for the root scope of a pass.
BoundFunction = Callable[[Scope], Awaitable[Value]]


@dataclass(frozen=True, slots=True)
class Wait:
    """What a suspended verb waits for: a moment (epoch ms), a message, or whichever comes first."""

    #: sleep, message or retry.
    reason: str
    location: str
    deadline: int | None = None
    #: Which queues; None for all. Only looked at when the reason is message.
    queues: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """The function returned; ``output`` is its encoded result."""

    output: bytes


@dataclass(frozen=True, slots=True)
class Failed:
    """The function raised."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class Diverged:
    """The function no longer fits its journal; nothing was written."""

    error: HistoryDivergedError


@dataclass(frozen=True, slots=True)
class Suspended:
    """The run was put away; ``waits`` is what it waited for (empty: it was in the middle of something)."""

    waits: tuple[Wait, ...]
    #: Set when a commit was refused: what is in memory is no longer what is stored.
    error: StoreError | None = None


Outcome = Completed | Failed | Diverged | Suspended


class Run:
    """Runs one workflow function over one journal until it ends or is put away.

    ``crashed`` says that the engine ended uncleanly while this workflow was awake. ``always_replay`` turns every wait
    into leaving the function and running it again from the top, which must change nothing.
    """

    def __init__(
        self,
        function: BoundFunction,
        journal: Journal,
        port: Port,
        *,
        crashed: bool = False,
        always_replay: bool = False,
    ) -> None:
        self.journal = journal
        self.port = port
        #: True until the journal goes on: the body at its frontier may be what killed the engine.
        self.crashed = crashed
        #: The pass is being left: verbs refuse.
        self.leaving = False
        #: What still runs is being cancelled: the time to leave in peace is over.
        self.given_up = False
        self.waits: dict[Wait, asyncio.Future[None]] = {}
        #: Completable messages that were received and not completed yet, by id.
        self.open_messages: dict[int, str] = {}
        self.scope: Scope | None = None
        self._function = function
        self._always_replay = always_replay
        self._suspended_at: Wait | None = None
        self._closing = False
        self._diverged: HistoryDivergedError | None = None
        self._refused: StoreError | None = None
        self._commits = 0

    @property
    def replaying(self) -> bool:
        """Whether recorded entries are still to come where the function is now."""
        return self.scope is not None and self.scope.replaying

    @property
    def commits(self) -> int:
        """How often the journal went on in this life."""
        return self._commits

    # -- life --------------------------------------------------------------------------------------------

    async def execute(self) -> Outcome:
        """Run until the function ends or `close` is called. Called once."""
        while True:
            outcome = await self._pass()
            if self._suspended_at is None or self._closing or not isinstance(outcome, Suspended):
                return outcome
            wait, self._suspended_at = self._suspended_at, None
            try:
                await self._block(wait)
            except Evicted:
                return Suspended((wait,))

    def close(self) -> None:
        """Put the run away: what waits is woken to leave; what runs leaves at its next verb."""
        self._closing = self.leaving = True
        for future in list(self.waits.values()):
            if not future.done():
                future.set_exception(Evicted())

    async def _pass(self) -> Outcome:
        """One run of the function from the top; how it ended, as a value."""
        self.leaving = self._closing
        self.open_messages.clear()
        self.scope = scope = Scope(self, ROOT)
        waits: tuple[Wait, ...] = ()
        try:
            try:
                output = codec.encode(await self._function(scope))
                if not self.leaving:
                    scope.close()
            finally:
                waits = tuple(self.waits)
            await self.flush()
            outcome: Outcome = Completed(output)
        except HistoryDivergedError as error:
            outcome = Diverged(error)
        except Evicted:
            outcome = Suspended(waits)
        except BaseExceptionGroup as group:
            outcome = self._signal_in(group) or Failed(failure_of(group))
        except asyncio.CancelledError as error:
            if self._closing:
                outcome = Suspended(waits)
            elif _is_cancelled():
                raise
            else:
                outcome = Failed(failure_of(error))
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # a SystemExit would end the engine, and the next one, and the next
            outcome = Failed(failure_of(error))
        return self._settled(outcome)

    def _settled(self, outcome: Outcome) -> Outcome:
        """What the pass really came to, when user code swallowed or replaced a signal."""
        if self._diverged is not None:
            if not isinstance(outcome, Diverged):
                self.port.report(events.signal_swallowed(_what(outcome)))
            return Diverged(self._diverged)
        if self._refused is not None:
            return Suspended((), self._refused)
        if self.leaving and not isinstance(outcome, Suspended):
            self.port.report(events.signal_swallowed(_what(outcome)))
            return Suspended(())
        return outcome

    def _signal_in(self, group: BaseExceptionGroup[BaseException]) -> Outcome | None:
        signals = group.subgroup(Signal)
        return Suspended(()) if signals is not None else None

    def diverge(self, error: HistoryDivergedError) -> HistoryDivergedError:
        """Remember that the code does not fit, even if user code swallows the error."""
        self._diverged = self._diverged or error
        self.leaving = True
        return error

    # -- the world ---------------------------------------------------------------------------------------

    async def record(self, entry: Entry, data: ActorData | None = None) -> None:
        """Commit the entry with everything put off before it, and the changes made through ``data``."""
        self.journal.write(entry)
        await self.flush(data)

    async def flush(self, data: ActorData | None = None) -> None:
        """Commit what was put off. Raises `Evicted` when the store refuses: memory and disk differ now."""
        if not self.journal.uncommitted:
            return
        batch = self.journal.take()
        try:
            await self.port.commit(batch, data)
        except EncodeError:
            self.journal.put_back(batch)
            raise
        except StoreError as error:
            raise self.refuse(error) from error
        self._went_on()

    async def complete(self, message: Message, response: bytes) -> None:
        """Commit what is written with the message's removal, and answer its sender."""
        try:
            await self.port.complete(self.journal.take(), message, response)
        except StoreError as error:
            raise self.refuse(error) from error
        self._went_on()

    def _went_on(self) -> None:
        self._commits += 1
        self.crashed = False

    def refuse(self, error: StoreError) -> Evicted:
        """The store refused a commit; the run must be put away."""
        self._refused = error
        self.leaving = True
        return Evicted()

    async def wait(self, wait: Wait) -> None:
        """Suspend until what is waited for may have come. Returns at once when it has."""
        if self._ready(wait):
            return
        await self.flush()
        self.crashed = False
        if self._always_replay:
            self._suspended_at = wait
            self.leaving = True
            raise Evicted
        await self._block(wait)

    def notify(self, queue: str) -> None:
        """A message arrived in a queue: wake what waits for it."""
        for wait, future in self.waits.items():
            if (
                wait.reason == "message"
                and (wait.queues is None or queue in wait.queues)
                and not future.done()
            ):
                future.set_result(None)

    def _ready(self, wait: Wait) -> bool:
        if wait.deadline is not None and wait.deadline <= self.port.clock.now():
            return True
        return wait.reason == "message" and self.port.waiting(wait.queues)

    async def _block(self, wait: Wait) -> None:
        if self.leaving and self._closing:
            raise Evicted
        if self._ready(wait):
            return
        future = asyncio.get_running_loop().create_future()
        self.waits[wait] = future
        alarm = None if wait.deadline is None else Alarm(self.port.clock, wait.deadline, _resolve(future))
        try:
            await future
        except Evicted:
            raise  # what it was put away waiting for stays to be seen
        except BaseException:
            del self.waits[wait]
            raise
        else:
            del self.waits[wait]  # it came, even if the run is put away in the same moment
        finally:
            if alarm is not None:
                alarm.cancel()


def _resolve(future: asyncio.Future[None]) -> Callable[[], None]:
    def resolve() -> None:
        if not future.done():
            future.set_result(None)

    return resolve


def _is_cancelled() -> bool:
    """Whether somebody cancelled this task; a CancelledError may also come from what user code awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _what(outcome: Outcome) -> str:
    return (
        "returned"
        if isinstance(outcome, Completed)
        else f"raised {outcome.failure}"
        if isinstance(outcome, Failed)
        else "went on"
    )
