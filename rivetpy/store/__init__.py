"""What the engine asks of a store: a small sorted key-value space per actor, with atomic batches.

The contract, which every store passes as tests (tests/contract):

* A **batch** changes one actor and is atomic: after a crash at any moment either all of it is there or none.
* `Store.commit` returns once the batch is as durable as the store promises; batches take effect in the order
  they were handed in, and a batch handed in before another is never durable without it.
* A batch that was handed in belongs to the store: a caller that is cancelled meanwhile does not take it back, and
  stays until it is durable (`rivetpy.unbroken`).
* A batch that is refused (`StoreError`) leaves nothing behind, and takes along those of the same actor that were
  handed in behind it, before the caller heard: they were made on top of it. Other actors' are not hurt by it.
* Reads see every batch whose commit has returned, and may see one that is still on its way.
* Within a batch the order is: clear, prefixes, deletes, puts. ``b"jab"`` is deleted by the prefix ``b"ja"``.
* Keys and values are bytes; keys sort bytewise; an actor's range is found without touching other actors.
* An actor's **row** is its identity plus what has to be found without loading it: whether it was awake
  and when it wants to be woken. Name + key is unique among the rows that are not destroyed. Of a row that is
  there only ``awake``, ``alarm`` and ``destroyed_at`` change; a destroyed actor is neither awake nor asleep.
* The first batch of an actor brings its row.
* One process owns a data directory at a time (`rivetpy.store.lock`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from rivetpy.identity import Key

if TYPE_CHECKING:
    import asyncio  # the parent of `rivet dev` takes the lock, and runs no event loop


@dataclass(frozen=True, slots=True)
class ActorRow:
    """One actor, as a listing sees it. Times are epoch milliseconds."""

    id: str
    namespace: str
    name: str
    key: Key
    created_at: int
    #: Written True before any code of the actor runs, False when it is put away: True after an unclean end.
    awake: bool = True
    #: When a sleeping actor is to be woken, None for never.
    alarm: int | None = None
    destroyed_at: int | None = None


@dataclass(slots=True)
class Batch:
    """Changes to one actor that become durable together."""

    actor: str
    puts: dict[bytes, bytes] = field(default_factory=dict)
    deletes: list[bytes] = field(default_factory=list)
    prefixes: list[bytes] = field(default_factory=list)
    #: Delete everything the actor has stored (its row stays; set ``row`` to mark it destroyed).
    clear: bool = False
    #: Insert the actor's row, or change it.
    row: ActorRow | None = None


#: A page of rows, and the cursor of the next page (None at the end).
Page = tuple[list[ActorRow], str | None]
#: Keys and values, sorted by key.
Pairs = list[tuple[bytes, bytes]]
Ids = list[str]


@dataclass(frozen=True, slots=True)
class Listing:
    """Which rows to list: those of a namespace, and of one name if given; a page of them, from a cursor on."""

    namespace: str
    name: str | None = None
    include_destroyed: bool = False
    limit: int = 100
    #: What the page before returned; None for the first page.
    cursor: str | None = None


class Store(Protocol):
    """A place where actors are kept. Every method may raise `StoreError`."""

    async def get(self, actor: str) -> ActorRow | None:
        """The row with this id, destroyed or not."""
        ...

    async def find(self, namespace: str, name: str, key: Key) -> ActorRow | None:
        """The row with this identity that is not destroyed."""
        ...

    async def load(self, actor: str) -> Pairs:
        """Everything the actor has stored, sorted by key."""
        ...

    def commit(self, batch: Batch) -> asyncio.Future[None]:
        """Hand the batch in; the future is done once it is durable. See the contract above.

        Raises `StoreError`: ``duplicate_key`` when ``row`` is new and its name + key are taken,
        ``unknown_actor`` when there is no row, ``disk_full``, ``io_error``, ``closed``, ….
        """
        ...

    async def awake(self) -> Ids:
        """Ids of the actors whose row says awake: after a start, the ones an unclean end left behind."""
        ...

    async def due(self, now: int, limit: int) -> Ids:
        """Ids of sleeping actors whose alarm is at or before ``now`` (epoch ms), earliest first."""
        ...

    async def next_alarm(self) -> int | None:
        """The earliest alarm of any sleeping actor (epoch ms)."""
        ...

    async def close(self) -> None:
        """Finish what was handed in, then let go of the files."""
        ...

    async def list(self, listing: Listing) -> Page:
        """A page of rows, newest first: by time, then by the order of their creation. ``limit`` is 1 or more.

        Raises `StoreError` ``invalid_cursor`` for a cursor that no page returned.
        """
        ...
