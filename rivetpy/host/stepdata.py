"""The data behind a step: the actor as one attempt changes it, committed with the step (spec workflows 2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rivetpy.codec import Value
from rivetpy.host import actions
from rivetpy.host.conns import Event
from rivetpy.host.context import ActorContext
from rivetpy.host.kv import KeyValues
from rivetpy.host.parts import Parts
from rivetpy.host.rows import StagedRows
from rivetpy.host.schedule import Schedule
from rivetpy.store import Batch
from rivetpy.workflow.abilities import Database
from rivetpy.workflow.entries import Message
from rivetpy.workflow.errors import WorkflowUsageError

if TYPE_CHECKING:
    from rivetpy.client import Client


class StepData:
    """The actor as one attempt of a step changes it; the kernel commits it with the step."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._core = parts.core
        self.touched = False
        self._over = False
        self.sends: list[tuple[str, bytes]] = []
        self._messages: list[Message] = []
        self.events: list[Event] = []
        self.rows = StagedRows(parts.table)
        #: How often this attempt sent to each queue of other actors.
        self._sent: dict[tuple[str, str], int] = {}

    @property
    def state(self) -> Value:
        """The durable state."""
        self.touch()
        return self._core.state

    @state.setter
    def state(self, value: Value) -> None:
        self.touch()
        self._core.state = value

    @property
    def vars(self) -> Value:
        """What the actor keeps for this life only."""
        return self._core.vars

    @property
    def kv(self) -> KeyValues:
        """Durable values by key."""
        return KeyValues(self.rows)

    @property
    def db(self) -> Database:
        """The actor's own SQLite database."""
        return self._parts.db

    @property
    def schedule(self) -> Schedule:
        """Actions to be called later."""
        return Schedule(self.rows, self._core.definition, self._core.clock)

    def client(self, idempotency_key: str) -> Client:
        """A client of other actors whose sends carry keys of their own: those of the next attempt are the same."""
        from rivetpy.client import Client
        from rivetpy.host.peers import AsStep, Peers

        def next_key(actor_id: str, queue: str) -> str:
            number = self._sent[actor_id, queue] = self._sent.get((actor_id, queue), 0) + 1
            return f"{idempotency_key}:{number}:{actor_id}:{queue}"

        return Client(Peers(self._parts, busy=True, step=AsStep(next_key, self._own_action)))

    async def _own_action(self, name: str, args: list[Value]) -> Value:
        """An action of the step's own actor: what it changes in the state is committed with the step."""
        context = ActorContext(self._parts)
        context.part_of = self.touch
        return await actions.call(self._core, context, name, args)

    def touch(self) -> None:
        """The state is in this step's hand until it is settled."""
        if self._over:
            raise WorkflowUsageError(
                "A client of a step was used after the step ended; its changes can't be recorded."
            )
        if not self.touched:
            self.touched = True
            self._core.step_touched(self)

    @property
    def untouched(self) -> bool:
        """Whether there is nothing to commit."""
        return not (self.touched or self.sends or self.events or self.rows.changes)

    def send(self, queue: str, body: Value) -> None:
        """Check the message now; it is enqueued with the step."""
        self.sends.append((queue, self._parts.queues.checked_body(queue, body, len(self.sends))))

    def broadcast(self, event: str, args: Sequence[Value]) -> None:
        """Check the event now; it leaves when the step is recorded."""
        self.events.append(self._parts.conns.event(event, args))

    def abandon(self) -> None:
        """Nothing more comes of this attempt."""
        self.discard()
        self.close()

    def close(self) -> None:
        """The attempt is recorded, or given up."""
        self._over = True
        self._core.step_settled(self)

    def let_go(self) -> None:
        """A thread that can't be stopped may still hold the state: it is left a copy."""
        if self.touched:
            self._core.renew_state()

    def discard(self) -> None:
        """Forget what a failed attempt sent."""
        self.sends.clear()
        self.events.clear()
        self.rows.changes.clear()

    # -- recording ---------------------------------------------------------------------------------------

    def stage(self, batch: Batch) -> None:
        """Put everything into the batch that records the step.

        Raises `EncodeError` before anything is staged, when the state can't be stored.
        """
        if self.touched:
            self._core.stage_state(batch)
            self._core.step_handed_in(self)
        self._parts.table.stage(batch, self.rows.changes)
        self._messages = [self._parts.queues.stage(batch, queue, body) for queue, body in self.sends]

    def written(self, batch: asyncio.Future[None]) -> None:
        """The batch is durable, or refused: the attempt is over, and what it sent arrives if it is recorded."""
        self.close()
        if batch.cancelled() or batch.exception() is not None:
            return
        self._parts.queues.arrived(self._messages)
        for event in self.events:
            self._parts.conns.deliver(event)
