"""Who wants to know when an actor changes: told of every commit and of who is connected, after the fact."""

from __future__ import annotations

import asyncio
import contextlib
import enum
from collections.abc import Callable, Iterator

from rivetpy.store import Batch, Store
from rivetpy.workflow import layout


class Change(enum.Enum):
    """What of an actor is no longer as it was."""

    STATE = enum.auto()
    QUEUE = enum.auto()
    HISTORY = enum.auto()
    SCHEDULES = enum.auto()
    CONNECTIONS = enum.auto()


Changes = frozenset[Change]
#: Told what changed. Never blocks and never raises.
Told = Callable[[Changes], None]

ALL = frozenset(Change)
_BY_KEY = {
    layout.STATE: Change.STATE,
    layout.MESSAGE: Change.QUEUE,
    layout.JOURNAL: Change.HISTORY,
    layout.WORKFLOW: Change.HISTORY,
    layout.CALL: Change.SCHEDULES,
    layout.CRON: Change.SCHEDULES,
}


class Watched:
    """A store that tells. Costs nothing for actors that nobody watches."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._watchers: dict[str, list[Told]] = {}
        self.get = store.get
        self.find = store.find
        self.load = store.load
        self.awake = store.awake
        self.due = store.due
        self.next_alarm = store.next_alarm
        self.close = store.close
        self.list = store.list

    def commit(self, batch: Batch) -> asyncio.Future[None]:
        """As `Store.commit`; whoever watches the actor is told once it is durable."""
        written = self.store.commit(batch)
        if batch.actor in self._watchers:
            changes = changes_of(batch)

            def done(future: asyncio.Future[None]) -> None:
                if not future.cancelled() and future.exception() is None:
                    self.tell(batch.actor, changes)

            written.add_done_callback(done)
        return written

    def tell(self, actor_id: str, changes: Changes) -> None:
        """Tell whoever watches the actor, if anybody does."""
        for told in list(self._watchers.get(actor_id, ())):
            told(changes)

    @contextlib.contextmanager
    def watching(self, actor_id: str, told: Told) -> Iterator[None]:
        """Be told of an actor's changes for as long as the block."""
        watchers = self._watchers.setdefault(actor_id, [])
        watchers.append(told)
        try:
            yield
        finally:
            watchers.remove(told)
            if not watchers:
                self._watchers.pop(actor_id, None)


def changes_of(batch: Batch) -> Changes:
    """What a batch changes; all of it when it clears the actor."""
    if batch.clear:
        return ALL
    kinds = {key[:1] for keys in (batch.puts, batch.deletes, batch.prefixes) for key in keys}
    return frozenset(_BY_KEY[kind] for kind in kinds & _BY_KEY.keys())
