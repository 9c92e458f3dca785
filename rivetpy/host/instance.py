"""One awake actor: its workflow's life, and the kernel's port to everything else of it (spec workflows 12)."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Collection, Sequence
from operator import attrgetter

from rivetpy import codec
from rivetpy.actors import ActorDefinition
from rivetpy.clock import Clock
from rivetpy.codec import Value
from rivetpy.errors import RivetError, StoreError, actor_not_found
from rivetpy.host import actions, connecting, lifecycle, timers
from rivetpy.host.conns import Closed, Conn, Conns
from rivetpy.host.context import ActorContext
from rivetpy.host.core import Core
from rivetpy.host.database import Database, NoDatabase
from rivetpy.host.ending import ended
from rivetpy.host.events import HostEvent, Watcher
from rivetpy.host.inbox import Inbox
from rivetpy.host.logs import actor_log
from rivetpy.host.mailbox import Mailbox
from rivetpy.host.offline import workflow_view
from rivetpy.host.parts import Outside, Parts, tell_failed
from rivetpy.host.queues import Queues
from rivetpy.host.record import ENDED, WorkflowRecord, WorkflowStatus
from rivetpy.host.record import unpack as unpack_record
from rivetpy.host.rows import DirectRows, Table
from rivetpy.host.runloop import RunLoop
from rivetpy.host.senders import Senders
from rivetpy.host.stepdata import StepData
from rivetpy.host.timers import Timers
from rivetpy.host.view import ActorView
from rivetpy.host.work import Work
from rivetpy.identity import format_key
from rivetpy.store import ActorRow, Batch, Store
from rivetpy.workflow import events, layout, runner
from rivetpy.workflow.context import bind
from rivetpy.workflow.entries import Entry, Message
from rivetpy.workflow.failure import Failure
from rivetpy.workflow.journal import Journal
from rivetpy.workflow.outcomes import Completed, Diverged, Failed, Outcome, Suspended
from rivetpy.workflow.port import ActorData
from rivetpy.workflow.run import Run
from rivetpy.workflow.waits import Wait

Rows = Sequence[tuple[bytes, bytes]]

#: Seconds that a cancelled body has for its clean-up.
LAST_WORDS = 1.0
#: What clients are told: one that is cut off by the engine's end connects again (wire 7.3).
CUT_OFF = Closed("actor.stopped", 1011)
DESTROYED = Closed("actor.destroyed", 1011)


class Instance:
    """The only writer of its actor. The host makes it awake, hands it work and puts it away."""

    def __init__(
        self,
        row: ActorRow,
        definition: ActorDefinition,
        rows: Rows,
        store: Store,
        clock: Clock,
        watch: Watcher,
        on_broken: Callable[[Instance, StoreError], None],
        conns: Conns,
        db: Database | NoDatabase,
        outside: Outside,
    ) -> None:
        stored = dict(rows)
        self.core = Core(row, definition, stored, store, clock, lambda error: on_broken(self, error))
        self.record = (
            unpack_record(stored[layout.WORKFLOW]) if layout.WORKFLOW in stored else WorkflowRecord()
        )
        self.journal = Journal(row.id, [item for item in rows if item[0].startswith(layout.JOURNAL)])
        self.queues = Queues(
            self.core,
            Mailbox(rows, self.journal.unanswered()),
            Senders(rows, clock.now(), definition.options.action_timeout),
            self._on_arrival,
        )
        self.log = actor_log(row.name, format_key(row.key))
        self.inbox = Inbox(clock)
        self.work = Work(
            self.core.settle,
            self._rested,
            lambda what, error: tell_failed(watch, self.core, what, error),
        )
        table = Table(rows, (layout.KV, layout.CALL, layout.CRON))
        self.timers = Timers(table, clock)
        self.parts = Parts(
            self.core,
            self.queues,
            self.inbox,
            conns,
            self.work,
            table,
            DirectRows(self.core, table),
            db,
            self.log,
            outside,
            watch,
        )
        self.run: Run | None = None
        self._loop = RunLoop(self.parts)
        #: How many calls are being answered.
        self.busy = 0
        #: The actions that run, one thing for each.
        self.acting: set[object] = set()
        #: Called when the workflow came to an end, so that the instance may have become idle.
        self.on_rest: Callable[[], None] = lambda: None
        self._task: asyncio.Task[Outcome] | None = None
        self._watch = watch
        # What the kernel reads of its port:
        self.actor_id, self.name, self.key = row.id, row.name, row.key
        self.input, self.clock = self.core.input, clock

    async def call(self, action: str, args: Sequence[Value], conn: Conn | None = None) -> Value:
        """Run an action; see `actions.call`."""
        call = object()
        self.acting.add(call)
        try:
            return await actions.call(self.core, ActorContext(self.parts, conn), action, args)
        finally:
            self.acting.discard(call)

    async def may_send(self, queue: str, conn: Conn) -> None:
        """Raises RivetError ``auth.forbidden``, ``queue.not_declared``."""
        self.queues.check_declared([queue])
        permission = self.core.definition.queues[queue].can_publish
        await connecting.permit(self.parts, conn, permission, f"send to queue {queue!r}")

    # -- the kernel's port -------------------------------------------------------------------------------

    def take(self, queues: frozenset[str] | None, count: int, *, keep: bool) -> list[Message]:
        return self.queues.mailbox.take(queues, count, keep=keep)

    def waiting(self, queues: frozenset[str] | None) -> bool:
        return self.queues.mailbox.waiting(queues)

    def queue_names(self, names: list[str] | None, wait: str) -> frozenset[str] | None:
        self.queues.check_declared(names or ())
        return None if names is None else frozenset(names)

    def open_step(self) -> StepData:
        return StepData(self.parts)

    async def commit(self, batch: Batch, data: ActorData | None = None) -> None:
        if not isinstance(data, StepData):
            await self.core.write(batch)
            return
        try:
            messages = data.stage(batch)
            await self.core.write(batch)
        finally:
            data.close()
        data.recorded(messages)

    async def complete(self, batch: Batch, message: Message, response: bytes) -> None:
        await self.queues.complete(batch, message, response)

    async def begin_rollback(self, batch: Batch, failure: Failure) -> None:
        self.record = dataclasses.replace(self.record, status=WorkflowStatus.ROLLING_BACK, failure=failure)
        batch.puts[layout.WORKFLOW] = self.record.pack()
        await self.core.write(batch)

    def release(self, message_ids: Collection[int]) -> None:
        self.queues.release(message_ids)

    def put_back(self, messages: Sequence[Message]) -> dict[bytes, bytes]:
        return self.queues.put_back(messages)

    def report(self, event: events.Event) -> None:
        self._watch(
            HostEvent(event.kind, self.core.row, event.text, event.level, event.location, event.failure)
        )

    def _rested(self) -> None:
        self.on_rest()

    def _on_arrival(self, queue: str) -> None:
        if self.run is not None:
            self.run.notify(queue)
        self.inbox.notify(queue)

    # -- how it stands -----------------------------------------------------------------------------------

    @property
    def status(self) -> WorkflowStatus:
        """How the workflow stands now (spec workflows 11)."""
        if self.run is None:
            return self.record.status
        if self.record.status is WorkflowStatus.ROLLING_BACK:
            return self.record.status
        return WorkflowStatus.SLEEPING if self.run.resting else WorkflowStatus.RUNNING

    @property
    def diverged(self) -> bool:
        """Whether the workflow waits for other code."""
        return self.record.status is WorkflowStatus.DIVERGED

    @property
    def resting(self) -> bool:
        """Whether nothing happens here before a message, a call or an alarm."""
        if self.busy or self.queues.senders.waiting or self.diverged or self.work.keeping:
            return False
        return self._loop.resting and (self.run is None or self.run.resting)

    @property
    def bodies(self) -> int:
        """How many steps run, and what else keeps it awake."""
        return self.work.keeping + (0 if self.run is None else len(self.run.working))

    @property
    def in_flight(self) -> bool:
        """Whether a step is running."""
        return self.run is not None and bool(self.run.working)

    def view(self) -> ActorView:
        """What there is to see."""
        core = self.core
        workflow = None
        if core.definition.has_workflow:
            waits = self.run.waits if self.run is not None else ()
            workflow = workflow_view(self.record, self.status, waits, self._entries())
        state = None if core.cell is None else codec.reread(core.cell.value)[1]
        queue = tuple(self.queues.mailbox.messages())
        return ActorView(core.row, True, state, queue, workflow, core.cell is not None)

    def _entries(self) -> list[Entry]:
        """The journal, and the steps that are at work for the first time."""
        begun = () if self.run is None else (e for e in self.run.working.values() if not self.journal.has(e))
        return [*self.journal, *sorted(begun, key=attrgetter("seq"))]

    # -- the workflow's life -----------------------------------------------------------------------------

    def start(self, *, crashed: bool, always_replay: bool) -> None:
        """Begin the run handler, a workflow from its journal if it has not ended; and the calls that are due."""
        self.timers.start(self._begin_call)
        if self.core.definition.loop is not None:
            self._loop.start()
        workflow = self.core.definition.run
        if workflow is None or self.record.status in ENDED:
            return
        crashed = crashed and not self.diverged
        if self.record.status is WorkflowStatus.PENDING:
            begun = any(self.journal)  # and never put away: the engine died
            self.report(
                events.Event("run_resumed", "workflow resumed")
                if begun
                else events.Event("run_started", "workflow started")
            )
        rolling_back = self.record.status is WorkflowStatus.ROLLING_BACK
        self.run = Run(
            bind(workflow.function),
            self.journal,
            self,
            crashed=crashed,
            always_replay=always_replay,
            failing=self.record.failure if rolling_back else None,
            rewound_at=self.record.rewound_at,
            on_error=workflow.on_error,
        )
        if not rolling_back:
            self.record = WorkflowRecord(WorkflowStatus.RUNNING, rewound_at=self.record.rewound_at)
        self._task = asyncio.get_running_loop().create_task(
            self._live(self.run), name=f"workflow {self.name}"
        )

    def _begin_call(self, key: bytes) -> None:
        """Make a call that is due."""

        def done(task: asyncio.Task[None]) -> None:
            if not task.cancelled():  # only at the end of this life, and the next makes the call anew
                task.exception()  # of the store, which the host was told of
                self.timers.done(key)

        self.work.keep_awake(timers.call(self.parts, key)).add_done_callback(done)

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
                self.run = None
            self.on_rest()
        return outcome

    async def _end(self, outcome: Completed | Failed | Diverged) -> None:
        """Write how the workflow ended, then say so."""
        self.record, event = ended(outcome, self.record.rewound_at)
        batch = self.journal.take() if isinstance(outcome, Failed) else self.core.batch()
        batch.puts[layout.WORKFLOW] = self.record.pack()
        await self.core.write(batch)
        self.report(event)

    # -- leaving -----------------------------------------------------------------------------------------

    async def put_away(self, grace: float, *, for_good: bool = False) -> None:
        """Leave memory: the run handler is closed at its next durable point (after ``grace`` seconds: where it is),
        then on_sleep, then what still runs; and the row says when to come back. ``for_good``: the engine stops, so
        nobody stays connected. Raises `StoreError`."""
        core = self.core
        waits = await self._close("on_sleep", grace, core.restarting(), CUT_OFF if for_good else None)
        batch = core.batch()
        if not core.spoiled:
            core.stage_state(batch)
        if (
            self.run is not None
            and waits is not None
            and self.record.status is not WorkflowStatus.ROLLING_BACK
        ):
            status = WorkflowStatus.SLEEPING if waits else WorkflowStatus.RUNNING
            self.record = WorkflowRecord(status, waits=waits, rewound_at=self.record.rewound_at)
            batch.puts[layout.WORKFLOW] = self.record.pack()
        alarms = (self._alarm(waits), self.timers.next_due())
        alarm = min((alarm for alarm in alarms if alarm is not None), default=None)
        core.row = dataclasses.replace(core.row, awake=False, alarm=alarm)
        batch.row = core.row
        try:
            await core.leave(batch)
        finally:
            await self.parts.db.close()

    async def end(self, grace: float) -> None:
        """The actor is destroyed: stop everything within ``grace`` seconds, on_destroy last."""
        await self._close("on_destroy", grace, actor_not_found(self.actor_id), DESTROYED)
        self.core.gone = True
        await self.parts.db.close()

    async def _close(
        self, hook: str, grace: float, error: RivetError, end: Closed | None
    ) -> tuple[Wait, ...] | None:
        """The order of leaving (spec actors 2): the abort signal, the run handler, the connections when they ``end``,
        the hook, then what still runs. What the run handler waited for, as `_close_workflow`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace
        self.core.abort.set()
        self.timers.stop()
        self.queues.senders.abandon(error)
        if self.core.definition.loop is not None:
            waits = await self._loop.close(deadline)
        else:
            waits = await self._close_workflow(0 if end is DESTROYED else grace)
        if end is not None:
            await connecting.leave_all(self.parts, end)
        await lifecycle.last_words(self.parts, hook, max(deadline, loop.time() + LAST_WORDS))
        while self.busy and loop.time() < deadline:  # noqa: ASYNC110 - rare, and bounded
            await asyncio.sleep(0.01)
        await self.work.drain(deadline)
        return waits

    def abandon(self, error: StoreError) -> None:
        """Let go without writing: what is in memory is no longer what is stored."""
        if self.run is not None:
            self.run.refuse(error)
            self.run.close()
            if self._task is not None and self._task is not asyncio.current_task():
                self.run.given_up = True
                self._task.cancel()  # the next instance must not meet a body of this one
        self.give_up()

    def give_up(self) -> None:
        """Nothing that still runs here may change anything any more."""
        self.core.gone = True
        self.core.abort.set()
        self.timers.stop()
        self.core.settle_all()
        self._loop.give_up()
        self.work.give_up()
        self.parts.db.give_up()
        self.queues.senders.abandon(self.core.restarting())

    @property
    def runs_by_itself(self) -> bool:
        """Whether there is something that begins without being called."""
        definition = self.core.definition
        return definition.has_workflow or definition.loop is not None or self.timers.next_due() is not None

    async def _close_workflow(self, grace: float) -> tuple[Wait, ...] | None:
        """Close the run; what it waited for, or None when there is no workflow to come back to."""
        if self.run is None or self._task is None:
            return None
        self.run.close()
        done, _ = await asyncio.wait([self._task], timeout=grace)
        if not done:
            self.run.given_up = True
            self._task.cancel()
            await asyncio.wait([self._task], timeout=LAST_WORDS)
        self.core.settle_all()
        if not self._task.done() or self._task.cancelled():
            return ()  # a body that ignores its end goes on alone: nothing of it is written any more
        outcome = self._task.result()
        return outcome.waits if isinstance(outcome, Suspended) else None

    def _alarm(self, waits: tuple[Wait, ...] | None) -> int | None:
        """When the workflow has to go on (epoch ms): now, if nothing holds it; None: when something comes."""
        if self.diverged:
            return self.clock.now()  # tried again by the next engine, whose code may be another
        if waits is None:
            return None
        if not waits or any(wait.reason == "message" and self._coming(wait.queues) for wait in waits):
            return self.clock.now()
        return min((wait.deadline for wait in waits if wait.deadline is not None), default=None)

    def _coming(self, queues: frozenset[str] | None) -> bool:
        """Whether there is a message for a wait, or may be in a moment."""
        return self.waiting(queues) or self.queues.mailbox.arriving
