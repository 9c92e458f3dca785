"""What user code is handed of its actor: c in actions and hooks (spec actors 2)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, NoReturn

from rivetpy.codec import Value
from rivetpy.host.conns import Conn
from rivetpy.host.cron import Cron
from rivetpy.host.kv import KeyValues
from rivetpy.host.logs import Log
from rivetpy.host.parts import Parts
from rivetpy.host.receiving import ActorQueue
from rivetpy.host.rows import Changes
from rivetpy.host.schedule import Schedule
from rivetpy.identity import Key
from rivetpy.store import Batch
from rivetpy.workflow.abilities import Database
from rivetpy.workflow.errors import WorkflowUsageError

if TYPE_CHECKING:
    from rivetpy.client import Client


class ActorContext:
    """One call's view of its actor. Changes of the state are durable before an action's answer leaves."""

    def __init__(self, parts: Parts, conn: Conn | None = None) -> None:
        self._parts = parts
        self._core = parts.core
        #: Whether the state was reached for, so that there may be something to commit.
        self.touched = False
        #: The connection this is about; None when nobody is connected: in the run handler, on_wake, a schedule …
        self.conn = conn
        #: Rows that change when the state this call changed is written.
        self.along: Callable[[], Changes] = dict
        #: Set when this call is part of a step: tells the step that it changed the state, and commits nothing.
        self.part_of: Callable[[], None] | None = None
        #: Whether this is the run handler, which answers nobody while it waits.
        self.is_run = False
        self.queue = ActorQueue(parts)

    @property
    def state(self) -> Value:
        """The durable state, shared with the actor's other actions and steps."""
        self.touched = True
        return self._core.state

    @state.setter
    def state(self, value: Value) -> None:
        self.touched = True
        self._core.state = value

    async def save_state(self) -> None:
        """Make durable what was changed so far: for a run handler, which may go on for long.

        In an action that a step called this is left to the step's record, which the step could not wait for here.
        """
        if self.part_of is not None:
            self.part_of()
        else:
            await self._core.settle()

    @property
    def vars(self) -> Value:
        """What the actor keeps for this life only: made anew at every wake, never stored."""
        return self._core.vars

    @vars.setter
    def vars(self, value: Value) -> None:
        self._core.vars = value

    def stage_along(self, batch: Batch) -> None:
        """Put what goes along with the state into its batch."""
        self._parts.table.stage(batch, self.along())

    # -- what is kept, what comes later ------------------------------------------------------------------

    @property
    def kv(self) -> KeyValues:
        """Durable values by key."""
        return KeyValues(self._parts.rows)

    @property
    def db(self) -> Database:
        """The actor's own SQLite database."""
        return self._parts.db

    @property
    def schedule(self) -> Schedule:
        """Actions to be called later."""
        return Schedule(self._parts.rows, self._core.definition, self._core.clock)

    @property
    def cron(self) -> Cron:
        """Actions to be called again and again."""
        return Cron(self._parts.rows, self._core.definition, self._core.clock)

    # -- who it is ---------------------------------------------------------------------------------------

    @property
    def log(self) -> Log:
        """A logger that names the actor."""
        return self._parts.log

    @property
    def actor_id(self) -> str:
        """The actor's random id."""
        return self._core.row.id

    @property
    def name(self) -> str:
        """The actor's name."""
        return self._core.row.name

    @property
    def key(self) -> Key:
        """The actor's key."""
        return self._core.row.key

    @property
    def region(self) -> str:
        """Where the actor runs; a local engine is one place."""
        return "default"

    @property
    def input(self) -> Value:
        """What the actor was created with."""
        return self._core.input

    # -- clients -----------------------------------------------------------------------------------------

    @property
    def conns(self) -> Mapping[str, Conn]:
        """Everybody who is connected, by id; a copy."""
        return self._parts.conns.by_id()

    def broadcast(self, event: str, /, *args: Value) -> None:
        """Send an event to every connection that subscribed to it, now.

        Raises RivetError ``event.not_declared``, ``event.invalid``, or `EncodeError`.
        """
        self._parts.conns.broadcast(event, args)

    def client(self) -> Client:
        """A client of the actors of this engine and namespace, whatever the network is like."""
        # Most actors never ask for one, and an engine starts sooner without.
        from rivetpy.client import Client
        from rivetpy.host.peers import Peers

        return Client(Peers(self._parts, busy=self.is_run))

    # -- life --------------------------------------------------------------------------------------------

    @property
    def abort(self) -> asyncio.Event:
        """Set when the actor is put away or destroyed: what would take long should end."""
        return self._core.abort

    @property
    def aborted(self) -> bool:
        """Whether the actor is being put away or destroyed."""
        return self._core.abort.is_set()

    def keep_awake(self, awaitable: Awaitable[Value]) -> asyncio.Task[Value]:
        """Let something run beside this call and keep the actor from falling asleep meanwhile."""
        return self._parts.work.keep_awake(awaitable)

    def wait_until(self, awaitable: Awaitable[Value]) -> None:
        """Let something run beside this call; before the actor leaves memory it comes to its end, within
        ``ActorOptions.sleep_grace_period``. What it raises is reported, and ends nothing else."""
        self._parts.work.wait_until(awaitable)

    def sleep(self) -> None:
        """Put the actor away once its running calls are answered; it comes back when something comes for it."""
        self._parts.outside.sleep_soon(self.actor_id)

    def destroy(self) -> None:
        """End the actor and forget what it stored, once its running calls are answered."""
        self._parts.outside.destroy_soon(self.actor_id)

    def __getattr__(self, name: str) -> NoReturn:
        if name in _VERBS:
            raise WorkflowUsageError(f"c.{name} is a workflow's; make the run handler one: run=workflow(fn).")
        raise AttributeError(f"an actor's context has no {name!r}")


#: What is reached for by a workflow that was not made one.
_VERBS = frozenset({"step", "loop", "sleep_until", "join", "race", "try_step", "try_block"})
