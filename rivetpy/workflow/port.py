"""What the kernel is handed: the only ways it reaches the world. The host implements these."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from typing import Protocol

from rivetpy.clock import Clock
from rivetpy.codec import Value
from rivetpy.identity import Key
from rivetpy.store import Batch
from rivetpy.workflow.abilities import Database, KeyValues, Schedule
from rivetpy.workflow.entries import Message
from rivetpy.workflow.events import Event
from rivetpy.workflow.failure import Failure


class ActorData(Protocol):
    """The actor as one step attempt may use it; its changes are committed with the step."""

    @property
    def state(self) -> Value:
        """The durable state; raises RivetError when the actor has none."""
        ...

    @state.setter
    def state(self, value: Value) -> None: ...

    @property
    def vars(self) -> Value:
        """What the actor keeps for this life only."""
        ...

    @property
    def kv(self) -> KeyValues:
        """Durable values by key; changed with the step."""
        ...

    @property
    def db(self) -> Database:
        """The actor's own database; what is done there is no part of the step's record."""
        ...

    @property
    def schedule(self) -> Schedule:
        """Actions to be called later; changed with the step."""
        ...

    @property
    def untouched(self) -> bool:
        """Whether nothing was reached for, so there is nothing to commit."""
        ...

    @property
    def sends(self) -> Collection[object]:
        """What it sends to the actor itself."""
        ...

    def send(self, queue: str, body: Value) -> None:
        """Enqueue to the actor itself, once the step is recorded."""
        ...

    def abandon(self) -> None:
        """The attempt ends without a record: nothing more comes of it, and nobody has to wait for it."""
        ...

    def client(self, idempotency_key: str) -> Value:
        """A client of other actors; its sends carry keys made of this one."""
        ...

    def broadcast(self, event: str, args: Sequence[Value]) -> None:
        """Send an event to the actor's subscribers, once the step is recorded."""
        ...

    def let_go(self) -> None:
        """Whoever holds the state from this attempt holds a copy from now on."""
        ...

    def discard(self) -> None:
        """The attempt failed: what it sent never happened (the next attempt sends it again)."""
        ...


class Port(Protocol):
    """One actor, as its workflow sees it."""

    actor_id: str
    name: str
    key: Key
    input: Value
    clock: Clock

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger that names the actor."""
        ...

    def take(self, queues: frozenset[str] | None, count: int, *, keep: bool) -> list[Message]:
        """Remove and return up to ``count`` waiting messages of the queues, in order of arrival.

        With ``keep`` they stay in the actor's queue until `complete`, out of reach of other waits.
        """
        ...

    def waiting(self, queues: frozenset[str] | None) -> bool:
        """Whether `take` would return anything."""
        ...

    def queue_names(self, names: list[str] | None, wait: str) -> frozenset[str] | None:
        """The queues a wait names, checked; None for all. Raises RivetError for an undeclared one."""
        ...

    def open_step(self) -> ActorData:
        """The actor's data for one attempt of a step."""
        ...

    def commit(self, batch: Batch, data: ActorData | None = None) -> asyncio.Future[None]:
        """Hand in the batch, with the changes made through ``data``. The future is done once it is durable; what is
        handed in later is never durable without it.

        Raises `EncodeError` before anything is handed in when the state can't be stored, and `Evicted` when the actor
        is no longer there to be written. The future has a `StoreError` when the store refused.
        """
        ...

    async def complete(self, batch: Batch, message: Message, response: bytes) -> None:
        """Commit the batch with the message's removal and its encoded response, then answer whoever waits."""
        ...

    async def begin_rollback(self, batch: Batch, failure: Failure) -> None:
        """Commit the batch with the workflow's status: it failed with this, and is being rolled back."""
        ...

    def release(self, message_ids: Collection[int]) -> None:
        """Unanswered messages may be received again: who held them is gone."""
        ...

    def put_back(self, messages: Sequence[Message]) -> dict[bytes, bytes]:
        """Messages that were taken for good wait again; the rows to be committed next."""
        ...

    def report(self, event: Event) -> None:
        """Tell whoever watches."""
        ...
