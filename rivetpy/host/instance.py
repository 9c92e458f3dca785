"""One awake actor: its state, queues, actions and workflow, and every commit they make (spec actors 2)."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import logging
from collections.abc import Callable, Collection, Sequence

from rivetpy import codec
from rivetpy.actors import ActorDefinition
from rivetpy.clock import Clock
from rivetpy.codec import Value
from rivetpy.errors import RivetError, StoreError, actor_not_found, did_you_mean
from rivetpy.host.context import ActorContext, StepData, WorkflowLog, actor_log
from rivetpy.host.events import HostEvent, Watcher
from rivetpy.host.mailbox import Mailbox
from rivetpy.host.offline import workflow_view
from rivetpy.host.record import ENDED, WorkflowRecord, WorkflowStatus
from rivetpy.host.record import unpack as unpack_record
from rivetpy.host.senders import Seen, Senders
from rivetpy.host.statecell import StateCell, no_state
from rivetpy.host.view import ActorView
from rivetpy.identity import format_key
from rivetpy.store import ActorRow, Batch, Store
from rivetpy.workflow import events, layout
from rivetpy.workflow.context import bind
from rivetpy.workflow.entries import Message
from rivetpy.workflow.failure import failure_of
from rivetpy.workflow.journal import Journal
from rivetpy.workflow.port import ActorData
from rivetpy.workflow.run import Completed, Diverged, Failed, Outcome, Run, Suspended, Wait

Rows = Sequence[tuple[bytes, bytes]]


@dataclasses.dataclass(frozen=True, slots=True)
class SendResult:
    """What became of a send: ``completed`` (with the response, when waited for) or ``timedOut``."""

    status: str
    response: Value = None


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
    ) -> None:
        self.row = row
        self.definition = definition
        self.store = store
        self.clock = clock
        self.actor_id, self.name, self.key = row.id, row.name, row.key
        stored = dict(rows)
        self.input: Value = codec.decode(stored[layout.INPUT]) if layout.INPUT in stored else None
        self.cell = (
            StateCell(definition.shape, stored[layout.STATE])
            if definition.shape is not None and layout.STATE in stored
            else None
        )
        self.record = (
            unpack_record(stored[layout.WORKFLOW]) if layout.WORKFLOW in stored else WorkflowRecord()
        )
        self.journal = Journal(row.id, [item for item in rows if item[0].startswith(layout.JOURNAL)])
        self.mailbox = Mailbox(rows, self.journal.unanswered())
        self.senders = Senders(rows)
        self.action_log = actor_log(row.name, format_key(row.key))
        self.log = WorkflowLog(self.action_log, lambda: self.run)
        self.run: Run | None = None
        #: How many calls are being answered.
        self.busy = 0
        #: Grows with everything that happens: an actor is idle when it stands still.
        self.activity = 0
        #: Called whenever the instance may have become idle.
        self.on_rest: Callable[[], None] = lambda: None
        self._task: asyncio.Task[Outcome] | None = None
        self._open_steps: dict[StepData, asyncio.Future[None]] = {}
        #: Steps written as `def` touch the state from a thread.
        self._loop = asyncio.get_running_loop()
        self._gone = False
        self._watch = watch
        self._on_broken = on_broken

    # -- state -------------------------------------------------------------------------------------------

    @property
    def state(self) -> Value:
        """The object user code works on."""
        if self.cell is None:
            raise no_state(self.name)
        return self.cell.value

    @state.setter
    def state(self, value: Value) -> None:
        if self.cell is None:
            raise no_state(self.name)
        self.cell.value = value

    def _stage_state(self, batch: Batch) -> None:
        if self.cell is not None and (data := self.cell.change()) is not None:
            batch.puts[layout.STATE] = data
            self.cell.data = data

    async def set_state(self, plain: Value) -> None:
        """Replace the state. Raises `EncodeError`, or RivetError ``actor.state_invalid``."""
        if self.cell is None:
            raise no_state(self.name)
        self.cell.replace(plain)
        await self._commit_state()

    async def _commit_state(self) -> None:
        batch = Batch(self.actor_id)
        self._stage_state(batch)
        if batch.puts:
            await self._write(batch)

    # -- actions -----------------------------------------------------------------------------------------

    async def call(self, action: str, args: Sequence[Value]) -> Value:
        """Run an action; its state change is durable when this returns. Interleaves at awaits with all else."""
        function = self.definition.actions.get(action)
        if function is None:
            raise RivetError(
                "actor",
                "action_not_found",
                f"Action `{action}` was not found. {did_you_mean(action, self.definition.actions)}",
                {"action": action},
            )
        context = ActorContext(self)
        limit = asyncio.timeout(self.definition.options.action_timeout)
        try:
            async with limit:
                return await self._perform(function, context, args)
        except TimeoutError as error:
            if limit.expired():
                raise RivetError("actor", "action_timed_out", "Action timed out") from error
            raise

    async def _perform(
        self, function: Callable[..., Value], context: ActorContext, args: Sequence[Value]
    ) -> Value:
        before = self._half_done()
        interleaved = False
        try:
            value = function(context, *args)
            if inspect.isawaitable(value):
                interleaved = True
                value = await value
            return codec.reread(value)[1]
        finally:
            if context.touched:
                await self._commit_action(before, interleaved)

    def _half_done(self) -> bytes | None:
        """The state as a step that is still running left it, if it changed it."""
        return self.cell.change() if self._open_steps and self.cell is not None else None

    async def _commit_action(self, before: bytes | None, interleaved: bool) -> None:
        """Make the change durable. Never a running step's change before its entry (spec workflows 2): where the
        two can't be told apart, the answer waits for the step."""
        change = None if self.cell is None else self.cell.change()
        if change is None or change == before:
            return
        while (before is not None or interleaved) and self._open_steps:
            await asyncio.wait(list(self._open_steps.values()))
        await self._commit_state()

    # -- queues ------------------------------------------------------------------------------------------

    def checked_body(self, queue: str, body: Value, more: int = 0) -> bytes:
        """The encoded body of a message that may be enqueued; ``more`` counts others on their way.

        Raises RivetError ``queue.not_declared``, ``message_invalid``, ``message_too_large``, ``full``.
        """
        definition = self.definition.queues.get(queue)
        if definition is None:
            raise self._undeclared(queue)
        data, plain = codec.reread(body)
        definition.checked(queue, plain)
        options = self.definition.options
        if len(data) > options.max_queue_message_size:
            raise RivetError(
                "queue",
                "message_too_large",
                f"The message for queue {queue!r} has {len(data)} bytes; {options.max_queue_message_size} are allowed "
                "(ActorOptions.max_queue_message_size). Send a reference to large data instead.",
                {"size": len(data), "limit": options.max_queue_message_size},
            )
        if len(self.mailbox) + more >= options.max_queue_size:
            raise RivetError(
                "queue",
                "full",
                f"The queues of {self.name!r} hold {options.max_queue_size} messages, the most allowed "
                "(ActorOptions.max_queue_size). Send again once some were handled.",
                {"limit": options.max_queue_size},
            )
        return data

    def _undeclared(self, queue: str) -> RivetError:
        known = self.definition.queues
        return RivetError(
            "queue",
            "not_declared",
            f"Actor {self.name!r} declares no queue {queue!r}. {did_you_mean(queue, known)}",
            {"queue": queue, "queues": sorted(known)},
        )

    async def send(
        self,
        queue: str,
        body: Value,
        *,
        wait: bool = False,
        timeout: float | None = None,
        idempotency_key: str | None = None,
    ) -> SendResult:
        """Enqueue a message, durable when this returns; with ``wait``, until it is completed or ``timeout`` seconds
        passed (then the message stays in the queue)."""
        message_id = await self._send_once(queue, body, idempotency_key)
        if isinstance(message_id, Seen):
            if message_id.completed or not wait:
                return SendResult("completed", self._response(message_id) if wait else None)
            message_id = message_id.message
        if not wait:
            return SendResult("completed")
        try:
            async with asyncio.timeout(timeout):
                return SendResult("completed", codec.decode(await self.senders.wait(message_id)))
        except TimeoutError:
            return SendResult("timedOut")

    def _response(self, seen: Seen) -> Value:
        return None if seen.response is None else codec.decode(seen.response)

    async def _send_once(self, queue: str, body: Value, idempotency_key: str | None) -> int | Seen:
        """Enqueue, unless a send with the same key was there before: then what is known of that one."""
        if idempotency_key is not None:
            earlier = self.senders.seen(idempotency_key, self.clock.now())
            if earlier is not None:
                await earlier.durable.wait()
                return earlier
        data = self.checked_body(queue, body)
        batch = Batch(self.actor_id)
        message = self.mailbox.stage(batch, queue, data, self.clock.now(), idempotency_key)
        seen = self.senders.remember(batch, message)
        await self._write(batch)
        if seen is not None:
            seen.durable.set()
        self._arrived(message)
        return message.id

    def _arrived(self, message: Message) -> None:
        self.mailbox.arrived(message)
        if self.run is not None:
            self.run.notify(message.queue)

    async def drop_messages(self, ids: Collection[int] | None) -> int:
        """Delete waiting messages; how many."""
        batch = Batch(self.actor_id)
        gone = self.mailbox.drop(batch, ids)
        if gone:
            await self._write(batch)
        return len(gone)

    # -- the kernel's port -------------------------------------------------------------------------------

    def take(self, queues: frozenset[str] | None, count: int, *, keep: bool) -> list[Message]:
        return self.mailbox.take(queues, count, keep=keep)

    def waiting(self, queues: frozenset[str] | None) -> bool:
        return self.mailbox.waiting(queues)

    def queue_names(self, names: list[str] | None, wait: str) -> frozenset[str] | None:
        for name in names or ():
            if name not in self.definition.queues:
                raise self._undeclared(name)
        return None if names is None else frozenset(names)

    def open_step(self) -> StepData:
        return StepData(self)

    async def commit(self, batch: Batch, data: ActorData | None = None) -> None:
        if not isinstance(data, StepData) or data.untouched:
            await self._write(batch)
            return
        try:
            if data.touched:
                self._stage_state(batch)
            now = self.clock.now()
            messages = [self.mailbox.stage(batch, queue, body, now) for queue, body in data.sends]
            await self._write(batch)
        finally:
            self.step_settled(data)
        for message in messages:
            self._arrived(message)

    async def complete(self, batch: Batch, message: Message, response: bytes) -> None:
        self.senders.complete(batch, message, response)
        await self._write(batch)
        self.mailbox.answered(message.id)
        self.senders.answer(message.id, response)

    def report(self, event: events.Event) -> None:
        self._watch(HostEvent(event.kind, self.row, event.text, event.level, event.location, event.failure))

    def step_touched(self, data: StepData) -> None:
        """A running step has the state in hand: until it is settled its changes are half done."""
        self._open_steps[data] = self._loop.create_future()

    def step_settled(self, data: StepData) -> None:
        """The step's attempt is recorded or given up."""
        future = self._open_steps.pop(data, None)
        if future is not None and not future.done():
            future.set_result(None)

    async def _write(self, batch: Batch) -> None:
        if self._gone:
            raise self._restarting()
        self.activity += 1
        try:
            await self.store.commit(batch)
        except StoreError as error:
            self._on_broken(self, error)
            raise

    # -- the workflow's life -----------------------------------------------------------------------------

    @property
    def status(self) -> WorkflowStatus:
        """How the workflow stands now (spec workflows 11)."""
        if self.run is None:
            return self.record.status
        return WorkflowStatus.SLEEPING if self.run.waits else WorkflowStatus.RUNNING

    @property
    def diverged(self) -> bool:
        """Whether the workflow waits for other code."""
        return self.record.status is WorkflowStatus.DIVERGED

    def context(self) -> ActorContext:
        """The actor as an action sees it."""
        return ActorContext(self)

    def view(self) -> ActorView:
        """What there is to see."""
        waits = self.run.waits if self.run is not None else ()
        workflow = (
            workflow_view(self.record, self.status, waits, self.journal)
            if self.definition.has_workflow
            else None
        )
        state = None if self.cell is None else codec.reread(self.cell.value)[1]
        return ActorView(self.row, True, state, tuple(self.mailbox.messages()), workflow)

    @property
    def resting(self) -> bool:
        """Whether nothing happens here before a message, a call or an alarm."""
        if self.busy or self.senders.waiting or self.diverged:
            return False
        return self.run is None or bool(self.run.waits)

    def start_workflow(self, *, crashed: bool, always_replay: bool) -> None:
        """Run the workflow from its journal, if it has one that has not ended."""
        if self.definition.run is None or self.record.status in ENDED:
            return
        crashed = crashed and not self.diverged
        if self.record.status is WorkflowStatus.PENDING:
            self.report(events.Event("run_started", "workflow started"))
        self.record = WorkflowRecord(WorkflowStatus.RUNNING)
        self.run = Run(
            bind(self.definition.run.function),
            self.journal,
            self,
            crashed=crashed,
            always_replay=always_replay,
        )
        self._task = asyncio.get_running_loop().create_task(
            self._live(self.run), name=f"workflow {self.name}"
        )

    async def _live(self, run: Run) -> Outcome:
        outcome: Outcome = Suspended(())
        try:
            outcome = await run.execute()
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
        match outcome:
            case Completed(output):
                self.record = WorkflowRecord(WorkflowStatus.COMPLETED, output)
                event = events.Event("run_completed", "workflow completed")
            case Failed(failure):
                self.record = WorkflowRecord(WorkflowStatus.FAILED, failure=failure)
                event = events.Event(
                    "run_failed", f"workflow failed: {failure}", logging.ERROR, failure=failure
                )
            case Diverged(error):
                failure = failure_of(error)
                self.record = WorkflowRecord(WorkflowStatus.DIVERGED, failure=failure)
                event = events.Event("run_diverged", str(error), logging.ERROR, error.location, failure)
        batch = self.journal.take() if isinstance(outcome, Failed) else Batch(self.actor_id)
        batch.puts[layout.WORKFLOW] = self.record.pack()
        await self._write(batch)
        self.report(event)

    async def put_away(self, grace: float) -> None:
        """Leave memory: the workflow is closed at its next durable point (after ``grace`` seconds: where it is),
        and the row says when to come back. Raises `StoreError`."""
        self.senders.abandon(self._restarting())
        deadline = asyncio.get_running_loop().time() + grace
        waits = await self._close_workflow(grace)
        while self.busy and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 - rare, and bounded
            await asyncio.sleep(0.01)
        batch = Batch(self.actor_id)
        if waits is not None:
            self.record = WorkflowRecord(
                WorkflowStatus.SLEEPING if waits else WorkflowStatus.RUNNING, waits=waits
            )
            batch.puts[layout.WORKFLOW] = self.record.pack()
        self.row = dataclasses.replace(self.row, awake=False, alarm=self._alarm(waits))
        batch.row = self.row
        await self._write(batch)
        self._gone = True

    async def end(self) -> None:
        """The actor is destroyed: stop everything, write nothing."""
        await self._close_workflow(0)
        self._gone = True
        self.senders.abandon(actor_not_found(self.actor_id))

    async def _close_workflow(self, grace: float) -> tuple[Wait, ...] | None:
        """Close the run; what it waited for, or None when there is no workflow to come back to."""
        if self.run is None or self._task is None:
            return None
        self.run.close()
        done, _ = await asyncio.wait([self._task], timeout=grace)
        if not done:
            self.run.given_up = True
            self._task.cancel()
            await asyncio.wait([self._task])
        for data in list(self._open_steps):
            self.step_settled(data)
        if self._task.cancelled():
            return ()
        outcome = self._task.result()
        return outcome.waits if isinstance(outcome, Suspended) else None

    def _alarm(self, waits: tuple[Wait, ...] | None) -> int | None:
        """When the workflow has to go on (epoch ms): now, if nothing holds it; None: when something comes."""
        if self.diverged:
            return self.clock.now()  # tried again by the next engine, whose code may be another
        if waits is None:
            return None
        if not waits or any(wait.reason == "message" and self.waiting(wait.queues) for wait in waits):
            return self.clock.now()
        return min((wait.deadline for wait in waits if wait.deadline is not None), default=None)

    def abandon(self, error: StoreError) -> None:
        """Let go without writing: what is in memory is no longer what is stored."""
        if self.run is not None:
            self.run.refuse(error)
            self.run.close()
        for data in list(self._open_steps):
            self.step_settled(data)
        self._gone = True
        self.senders.abandon(self._restarting())

    def _restarting(self) -> RivetError:
        return RivetError("actor", "restarting", f"Actor {self.name!r} is restarting. Try again in a moment.")
