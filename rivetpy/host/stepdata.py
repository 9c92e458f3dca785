"""The data behind a step: the actor as one attempt changes it, committed with the step (spec workflows 2)."""

from __future__ import annotations

from collections.abc import Sequence

from rivetpy.codec import Value
from rivetpy.host.conns import Event
from rivetpy.host.kv import KeyValues
from rivetpy.host.parts import Parts
from rivetpy.host.rows import StagedRows
from rivetpy.host.schedule import Schedule
from rivetpy.store import Batch
from rivetpy.workflow.abilities import Database
from rivetpy.workflow.entries import Message


class StepData:
    """The actor as one attempt of a step changes it; the kernel commits it with the step."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._core = parts.core
        self.touched = False
        self.sends: list[tuple[str, bytes]] = []
        self.events: list[Event] = []
        self.rows = StagedRows(parts.table)

    @property
    def state(self) -> Value:
        """The durable state."""
        self._touch()
        return self._core.state

    @state.setter
    def state(self, value: Value) -> None:
        self._touch()
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

    def _touch(self) -> None:
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
        self._core.step_settled(self)

    def discard(self) -> None:
        """Forget what a failed attempt sent."""
        self.sends.clear()
        self.events.clear()
        self.rows.changes.clear()

    # -- recording ---------------------------------------------------------------------------------------

    def stage(self, batch: Batch) -> list[Message]:
        """Put everything into the batch that records the step; the messages that come with it.

        Raises `EncodeError` before anything is staged, when the state can't be stored.
        """
        if self.touched:
            self._core.stage_state(batch)
        self._parts.table.stage(batch, self.rows.changes)
        return [self._parts.queues.stage(batch, queue, body) for queue, body in self.sends]

    def recorded(self, messages: Sequence[Message]) -> None:
        """The batch is durable: what was sent arrives."""
        self._parts.queues.arrived(messages)
        for event in self.events:
            self._parts.conns.deliver(event)
