"""One awake actor: what it is made of, whether anything happens in it, and how it leaves (spec actors 2)."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterator, Sequence

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
from rivetpy.host.events import Watcher
from rivetpy.host.inbox import Inbox
from rivetpy.host.logs import actor_log
from rivetpy.host.mailbox import Mailbox
from rivetpy.host.parts import Outside, Parts, tell_failed
from rivetpy.host.queues import Queues
from rivetpy.host.rows import DirectRows, Table
from rivetpy.host.runloop import LAST_WORDS, RunLoop
from rivetpy.host.senders import Senders
from rivetpy.host.timers import Timers
from rivetpy.host.view import ActorView
from rivetpy.host.work import Work
from rivetpy.host.workflowlife import WorkflowLife
from rivetpy.identity import format_key
from rivetpy.store import ActorRow, Store
from rivetpy.workflow import layout
from rivetpy.workflow.journal import Journal
from rivetpy.workflow.waits import Wait

Rows = Sequence[tuple[bytes, bytes]]

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
        journal = Journal(row.id, [item for item in rows if item[0].startswith(layout.JOURNAL)])
        self.queues = Queues(
            self.core,
            Mailbox(rows, journal.unanswered()),
            Senders(rows, clock.now(), definition.options.action_timeout),
            self._on_arrival,
        )
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
            actor_log(row.name, format_key(row.key)),
            outside,
            watch,
        )
        self.workflow = WorkflowLife(stored, journal, self.parts, self._rested)
        self._loop = RunLoop(self.parts)
        #: How many calls are being answered.
        self.busy = 0
        #: The actions that run, one thing for each.
        self._actions: set[object] = set()
        #: Called when something came to an end, so that the instance may have become idle.
        self.on_rest: Callable[[], None] = lambda: None
        self.actor_id, self.name = row.id, row.name

    async def call(self, action: str, args: Sequence[Value], conn: Conn | None = None) -> Value:
        """Run an action; see `actions.call`."""
        call = object()
        self._actions.add(call)
        try:
            return await actions.call(self.core, ActorContext(self.parts, conn), action, args)
        finally:
            self._actions.discard(call)

    async def may_send(self, queue: str, conn: Conn) -> None:
        """Raises RivetError ``auth.forbidden``, ``queue.not_declared``."""
        self.queues.check_declared([queue])
        permission = self.core.definition.queues[queue].can_publish
        await connecting.permit(self.parts, conn, permission, f"send to queue {queue!r}")

    def _rested(self) -> None:
        self.on_rest()

    def _on_arrival(self, queue: str) -> None:
        self.workflow.notify(queue)
        self.inbox.notify(queue)

    # -- how it stands -----------------------------------------------------------------------------------

    @property
    def resting(self) -> bool:
        """Whether nothing happens here before a message, a call or an alarm."""
        if self.busy or self.queues.senders.waiting or self.workflow.diverged or self.work.keeping:
            return False
        return self._loop.resting and self.workflow.resting

    @property
    def acting(self) -> Iterator[object]:
        """The actions and steps that run, one thing for each."""
        yield from self._actions
        yield from ((self.actor_id, location) for location in self.workflow.working)

    @property
    def bodies(self) -> int:
        """How many steps run, and what else keeps it awake."""
        return self.work.keeping + self.workflow.bodies

    def view(self) -> ActorView:
        """What there is to see."""
        core = self.core
        workflow = self.workflow.view() if core.definition.has_workflow else None
        state = None if core.cell is None else codec.reread(core.cell.value)[1]
        queue = tuple(self.queues.mailbox.messages())
        return ActorView(core.row, True, state, queue, workflow, core.cell is not None)

    # -- beginning ---------------------------------------------------------------------------------------

    def start(self, *, crashed: bool, always_replay: bool) -> None:
        """Begin the run handler, a workflow from its journal if it has not ended; and the calls that are due."""
        self.timers.start(self._begin_call)
        if self.core.definition.loop is not None:
            self._loop.start()
        self.workflow.start(crashed=crashed, always_replay=always_replay)

    def _begin_call(self, key: bytes) -> None:
        """Make a call that is due."""

        def done(task: asyncio.Task[None]) -> None:
            if not task.cancelled():  # only at the end of this life, and the next makes the call anew
                task.exception()  # of the store, which the host was told of
                self.timers.done(key)

        self.work.keep_awake(timers.call(self.parts, key)).add_done_callback(done)

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
        self.workflow.stage(batch, waits)
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
        the hook, then what still runs. What the run handler waited for, as `WorkflowLife.close`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + grace
        self.core.abort.set()
        self.timers.stop()
        self.queues.senders.abandon(error)
        if self.core.definition.loop is not None:
            waits = await self._loop.close(deadline)
        else:
            waits = await self.workflow.close(0 if end is DESTROYED else grace)
        if end is not None:
            await connecting.leave_all(self.parts, end)
        await lifecycle.last_words(self.parts, hook, max(deadline, loop.time() + LAST_WORDS))
        while self.busy and loop.time() < deadline:  # noqa: ASYNC110 - rare, and bounded
            await asyncio.sleep(0.01)
        await self.work.drain(deadline)
        return waits

    def abandon(self, error: StoreError) -> None:
        """Let go without writing: what is in memory is no longer what is stored."""
        self.workflow.abandon(error)
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

    def _alarm(self, waits: tuple[Wait, ...] | None) -> int | None:
        """When the workflow has to go on (epoch ms): now, if nothing holds it; None: when something comes."""
        now = self.core.clock.now()
        if self.workflow.diverged:
            return now  # tried again by the next engine, whose code may be another
        if waits is None:
            return None
        if not waits or any(wait.reason == "message" and self._coming(wait.queues) for wait in waits):
            return now
        return min((wait.deadline for wait in waits if wait.deadline is not None), default=None)

    def _coming(self, queues: frozenset[str] | None) -> bool:
        """Whether there is a message for a wait, or may be in a moment."""
        return self.queues.mailbox.waiting(queues) or self.queues.mailbox.arriving
