"""The life of a workflow while its actor is awake, and the kernel's port to the rest of it (spec workflows 12)."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import attrgetter

from rivetpy.errors import StoreError
from rivetpy.host.ending import ended
from rivetpy.host.events import HostEvent
from rivetpy.host.offline import workflow_view
from rivetpy.host.parts import Parts
from rivetpy.host.record import ENDED, WorkflowRecord, WorkflowStatus, unpack
from rivetpy.host.runloop import LAST_WORDS
from rivetpy.host.stepdata import StepData
from rivetpy.host.view import WorkflowView
from rivetpy.store import Batch
from rivetpy.workflow import events, layout, runner
from rivetpy.workflow.context import bind
from rivetpy.workflow.entries import Entry, Message
from rivetpy.workflow.errors import Evicted
from rivetpy.workflow.failure import Failure
from rivetpy.workflow.journal import Journal
from rivetpy.workflow.outcomes import Completed, Diverged, Failed, Outcome, Suspended
from rivetpy.workflow.port import ActorData
from rivetpy.workflow.run import Run
from rivetpy.workflow.waits import Wait


class WorkflowLife:
    """A workflow's run and its record; of an actor without one, nothing ever begins here.

    ``on_end`` is called when the run came to an end, so that the actor may have become idle.
    """

    def __init__(
        self, stored: Mapping[bytes, bytes], journal: Journal, parts: Parts, on_end: Callable[[], None]
    ) -> None:
        self._parts = parts
        self._core = parts.core
        self._queues = parts.queues
        self._journal = journal
        self._on_end = on_end
        self._record = unpack(stored[layout.WORKFLOW]) if layout.WORKFLOW in stored else WorkflowRecord()
        self._run: Run | None = None
        self._task: asyncio.Task[Outcome] | None = None
        # What the kernel reads of its port:
        row = self._core.row
        self.actor_id, self.name, self.key = row.id, row.name, row.key
        self.input, self.clock, self.log = self._core.input, self._core.clock, parts.log

    # -- the kernel's port -------------------------------------------------------------------------------

    def take(self, queues: frozenset[str] | None, count: int, *, keep: bool) -> list[Message]:
        return self._queues.mailbox.take(queues, count, keep=keep)

    def waiting(self, queues: frozenset[str] | None) -> bool:
        return self._queues.mailbox.waiting(queues)

    def queue_names(self, names: list[str] | None, wait: str) -> frozenset[str] | None:
        self._queues.check_declared(names or ())
        return None if names is None else frozenset(names)

    def open_step(self) -> StepData:
        return StepData(self._parts)

    def commit(self, batch: Batch, data: ActorData | None = None) -> asyncio.Future[None]:
        if self._core.gone:  # a body that ignored its end
            if data is not None:
                data.abandon()
            raise Evicted
        if not isinstance(data, StepData):
            return self._core.hand_in(batch)
        try:
            data.stage(batch)
            written = self._core.hand_in(batch)
        except BaseException:
            data.close()
            raise
        written.add_done_callback(data.written)
        return written

    async def complete(self, batch: Batch, message: Message, response: bytes) -> None:
        await self._queues.complete(batch, message, response)

    async def begin_rollback(self, batch: Batch, failure: Failure) -> None:
        self._record = dataclasses.replace(self._record, status=WorkflowStatus.ROLLING_BACK, failure=failure)
        batch.puts[layout.WORKFLOW] = self._record.pack()
        await self._core.write(batch)

    def release(self, message_ids: Collection[int]) -> None:
        self._queues.release(message_ids)

    def put_back(self, messages: Sequence[Message]) -> dict[bytes, bytes]:
        return self._queues.put_back(messages)

    def report(self, event: events.Event) -> None:
        self._parts.watch(
            HostEvent(event.kind, self._core.row, event.text, event.level, event.location, event.failure)
        )

    # -- how it stands -----------------------------------------------------------------------------------

    @property
    def diverged(self) -> bool:
        """Whether it waits for other code."""
        return self._record.status is WorkflowStatus.DIVERGED

    @property
    def resting(self) -> bool:
        """Whether nothing happens in it before a message or an alarm."""
        return self._run is None or self._run.resting

    @property
    def bodies(self) -> int:
        """How many of its steps run."""
        return len(self.working)

    @property
    def working(self) -> Collection[str]:
        """Where its steps are that run."""
        return () if self._run is None else self._run.working

    @property
    def _status(self) -> WorkflowStatus:
        """How it stands now (spec workflows 11)."""
        if self._run is None or self._record.status is WorkflowStatus.ROLLING_BACK:
            return self._record.status
        return WorkflowStatus.SLEEPING if self._run.resting else WorkflowStatus.RUNNING

    def view(self) -> WorkflowView:
        """What there is to see of it."""
        waits = self._run.waits if self._run is not None else ()
        return workflow_view(self._record, self._status, waits, self._entries())

    def _entries(self) -> list[Entry]:
        """The journal, and the steps that are at work for the first time."""
        begun = (
            () if self._run is None else (e for e in self._run.working.values() if not self._journal.has(e))
        )
        return [*self._journal, *sorted(begun, key=attrgetter("seq"))]

    # -- from its start to its end -----------------------------------------------------------------------

    def start(self, *, crashed: bool, always_replay: bool) -> None:
        """Begin from the journal, if there is a workflow that has not ended."""
        workflow = self._core.definition.run
        if workflow is None or self._record.status in ENDED:
            return
        if self._record.status is WorkflowStatus.PENDING:
            begun = any(self._journal)  # and never put away: the engine died
            self.report(
                events.Event("run_resumed", "workflow resumed")
                if begun
                else events.Event("run_started", "workflow started")
            )
        rolling_back = self._record.status is WorkflowStatus.ROLLING_BACK
        self._run = Run(
            bind(workflow.function),
            self._journal,
            self,
            crashed=crashed and not self.diverged,
            always_replay=always_replay,
            failing=self._record.failure if rolling_back else None,
            rewound_at=self._record.rewound_at,
            on_error=workflow.on_error,
        )
        if not rolling_back:
            self._record = WorkflowRecord(WorkflowStatus.RUNNING, rewound_at=self._record.rewound_at)
        self._task = asyncio.get_running_loop().create_task(
            self._live(self._run), name=f"workflow {self.name}"
        )

    def notify(self, queue: str) -> None:
        """A message arrived."""
        if self._run is not None:
            self._run.notify(queue)

    async def _live(self, run: Run) -> Outcome:
        outcome: Outcome = Suspended(())
        try:
            outcome = await runner.execute(run)
            if not isinstance(outcome, Suspended):
                await self._end(outcome)
        except StoreError as error:  # the end could not be written: it will come again
            outcome = Suspended((), error)
        finally:
            if not isinstance(outcome, Suspended):
                self._run = None
            self._on_end()
        return outcome

    async def _end(self, outcome: Completed | Failed | Diverged) -> None:
        """Write how it ended, then say so."""
        self._record, event = ended(outcome, self._record.rewound_at)
        batch = self._journal.take() if isinstance(outcome, Failed) else self._core.batch()
        batch.puts[layout.WORKFLOW] = self._record.pack()
        await self._core.write(batch)
        self.report(event)

    # -- leaving -----------------------------------------------------------------------------------------

    async def close(self, grace: float) -> tuple[Wait, ...] | None:
        """End the run at its next durable point, after ``grace`` seconds where it is; what it waited for, or None
        when there is no workflow to come back to."""
        if self._run is None or self._task is None:
            return None
        self._run.close()
        done, _ = await asyncio.wait([self._task], timeout=grace)
        if not done:
            self._run.given_up = True
            self._task.cancel()
            await asyncio.wait([self._task], timeout=LAST_WORDS)
        self._core.settle_all()
        if not self._task.done() or self._task.cancelled():
            return ()  # a body that ignores its end goes on alone: nothing of it is written any more
        outcome = self._task.result()
        return outcome.waits if isinstance(outcome, Suspended) else None

    def stage(self, batch: Batch, waits: tuple[Wait, ...] | None) -> None:
        """Put into the batch with which the actor leaves memory what its workflow waits for."""
        if self._run is None or waits is None or self._record.status is WorkflowStatus.ROLLING_BACK:
            return
        status = WorkflowStatus.SLEEPING if waits else WorkflowStatus.RUNNING
        self._record = WorkflowRecord(status, waits=waits, rewound_at=self._record.rewound_at)
        batch.puts[layout.WORKFLOW] = self._record.pack()

    def abandon(self, error: StoreError) -> None:
        """Let go without writing: what is in memory is no longer what is stored."""
        if self._run is None:
            return
        self._run.refuse(error)
        self._run.close()
        if self._task is not None and self._task is not asyncio.current_task():
            self._run.given_up = True
            self._task.cancel()  # the next instance must not meet a body of this one
