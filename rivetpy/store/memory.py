"""The store in memory: for tests, and the shortest text of what a store does."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from rivetpy.errors import StoreError
from rivetpy.identity import Key
from rivetpy.store import ActorRow, Batch, Ids, Listing, Page, Pairs
from rivetpy.store.paging import read_cursor, write_cursor
from rivetpy.store.refusals import Refusals
from rivetpy.store.trouble import duplicate_key, unknown_actor
from rivetpy.unbroken import Unbroken


class MemoryStore:
    """A `Store` that lasts as long as the object; closing it loses nothing."""

    def __init__(self) -> None:
        self._rows: dict[str, ActorRow] = {}  # in the order of their creation
        self._living: dict[tuple[str, str, Key], str] = {}
        self._awake: dict[str, None] = {}
        self._alarms: dict[str, int] = {}
        self._entries: dict[str, dict[bytes, bytes]] = {}
        self._refusals = Refusals()

    async def get(self, actor: str) -> ActorRow | None:
        return self._rows.get(actor)

    async def find(self, namespace: str, name: str, key: Key) -> ActorRow | None:
        actor = self._living.get((namespace, name, key))
        return self._rows[actor] if actor else None

    async def list(self, listing: Listing) -> Page:
        found = [
            (row.created_at, number, row)
            for number, row in enumerate(self._rows.values())
            if row.namespace == listing.namespace
            and listing.name in (None, row.name)
            and (listing.include_destroyed or row.destroyed_at is None)
        ]
        found.sort(key=lambda item: item[:2], reverse=True)
        if listing.cursor is not None:
            position = read_cursor(listing.cursor)
            found = [item for item in found if item[:2] < position]
        page = found[: listing.limit]
        more = write_cursor(page[-1][:2]) if len(found) > listing.limit else None
        return [row for _, _, row in page], more

    async def load(self, actor: str) -> Pairs:
        return sorted(self._entries.get(actor, {}).items())

    def commit(self, batch: Batch) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        done = Unbroken[None](loop=loop)
        error = self._refusals.of(batch.actor) or self._apply(batch)
        if error is not None:
            self._refusals.note(batch.actor, error)
        loop.call_soon(self._resolve, batch.actor, done, error)  # others run meanwhile, as with a disk
        return done

    def _resolve(self, actor: str, done: asyncio.Future[None], error: StoreError | None) -> None:
        if error is None:
            done.set_result(None)
        else:
            self._refusals.tell(actor, error)
            done.set_exception(error)

    def _apply(self, batch: Batch) -> StoreError | None:
        """Make the changes; or why not."""
        if batch.row is not None and (error := self._put_row(batch.row)) is not None:
            return error
        if batch.actor not in self._rows:
            return unknown_actor(batch.actor)
        put_entries(self._entries.setdefault(batch.actor, {}), batch)
        return None

    async def awake(self) -> Ids:
        return list(self._awake)

    async def due(self, now: int, limit: int) -> Ids:
        due = [(alarm, actor) for actor, alarm in self._alarms.items() if alarm <= now]
        due.sort(key=lambda item: item[0])
        return [actor for _, actor in due[:limit]]

    async def next_alarm(self) -> int | None:
        return min(self._alarms.values(), default=None)

    async def close(self) -> None:
        pass

    def _put_row(self, row: ActorRow) -> StoreError | None:
        identity = (row.namespace, row.name, row.key)
        owner = self._living.get(identity, row.id)
        if owner != row.id and row.destroyed_at is None:
            return duplicate_key(row, owner)
        old = self._rows.get(row.id)
        if old:
            row = replace(
                old, awake=row.awake, alarm=row.alarm, destroyed_at=row.destroyed_at or old.destroyed_at
            )
        self._rows[row.id] = row
        self._index(row)
        return None

    def _index(self, row: ActorRow) -> None:
        self._awake.pop(row.id, None)
        self._alarms.pop(row.id, None)
        identity = (row.namespace, row.name, row.key)
        if row.destroyed_at is not None:
            if self._living.get(identity) == row.id:
                del self._living[identity]
            return
        self._living[identity] = row.id
        if row.awake:
            self._awake[row.id] = None
        elif row.alarm is not None:
            self._alarms[row.id] = row.alarm


def put_entries(entries: dict[bytes, bytes], batch: Batch) -> None:
    """Change an actor's entries as the batch says."""
    if batch.clear:
        entries.clear()
    prefixes = tuple(batch.prefixes)
    for key in [key for key in entries if key.startswith(prefixes)] if prefixes else ():
        del entries[key]
    for key in batch.deletes:
        entries.pop(key, None)
    entries.update(batch.puts)
