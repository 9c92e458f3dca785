"""The store on disk: one SQLite file with one writer.

What the file looks like is in `database`, how commits come together in `group`, how they are written in
`writing`.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path
from typing import Any, Self

from rivetpy.errors import StoreError
from rivetpy.identity import Key, format_key, parse_key
from rivetpy.store import ActorRow, Batch, Ids, Listing, Page, Pairs
from rivetpy.store.database import Durability, open_reader, open_writer
from rivetpy.store.group import GroupCommit
from rivetpy.store.paging import read_cursor, write_cursor
from rivetpy.store.trouble import refused, trouble
from rivetpy.store.writing import SqliteTransaction

__all__ = ["Durability", "SqliteStore"]

_COLUMNS = "id, namespace, name, key, created_at, awake, alarm, destroyed_at"
_GET = f"SELECT {_COLUMNS} FROM actors WHERE id = ?"  # noqa: S608 — as below: constants only
_FIND = (
    f"SELECT {_COLUMNS} FROM actors "  # noqa: S608
    "WHERE namespace = ? AND name = ? AND key = ? AND destroyed_at IS NULL"
)
_LOAD = "SELECT key, value FROM entries WHERE actor = (SELECT number FROM actors WHERE id = ?) ORDER BY key"
_AWAKE = "SELECT id FROM actors WHERE awake = 1 AND destroyed_at IS NULL ORDER BY number"
_ALARMS = (
    "SELECT id, alarm FROM actors WHERE awake = 0 AND alarm <= ? AND destroyed_at IS NULL "
    "ORDER BY alarm, number LIMIT ?"
)

_Record = tuple[Any, ...]
_Rows = list[_Record]
_NO_TIME_IS_LATER = 2**63 - 1


class SqliteStore:
    """A `Store` that survives kill -9 (durability ``process``) and a power cut (``disk``)."""

    def __init__(self, path: Path, reader: sqlite3.Connection, writer: sqlite3.Connection | None) -> None:
        """Use `open`."""
        self.path = path
        self._reader = reader
        self._writer = writer
        self._group = GroupCommit(SqliteTransaction(path, writer)) if writer else None

    @classmethod
    def open(cls, path: Path, durability: Durability = Durability.DISK, read_only: bool = False) -> Self:
        """The store in this file, which is made when there is none.

        ``read_only`` works beside a running engine and after one was killed. Raises `StoreError`:
        ``newer_format`` (the file is untouched), ``missing``, ``damaged``, ``not_writable``, ….
        """
        writer = None if read_only else open_writer(path, durability)
        try:
            # Reads have their own connection: they see what was committed, and nothing that still might fail.
            return cls(path, open_reader(path), writer)
        except BaseException:
            if writer:
                writer.close()
            raise

    async def get(self, actor: str) -> ActorRow | None:
        return _first(self._read(_GET, actor))

    async def find(self, namespace: str, name: str, key: Key) -> ActorRow | None:
        return _first(self._read(_FIND, namespace, name, format_key(key)))

    async def list(self, listing: Listing) -> Page:
        sql, values = _page_query(listing)
        rows = self._read(sql, *values, listing.limit + 1)  # one more, to know whether there is a next page
        page = rows[: listing.limit]
        more = write_cursor((page[-1][4], page[-1][-1])) if len(rows) > listing.limit else None
        return [_row(row[:-1]) for row in page], more

    async def load(self, actor: str) -> Pairs:
        return self._read(_LOAD, actor)

    def commit(self, batch: Batch) -> asyncio.Future[None]:
        if self._group is None:
            return refused(StoreError("read_only", f"{self.path}: opened for reading only."))
        return self._group.commit(batch)

    async def awake(self) -> Ids:
        return [id for (id,) in self._read(_AWAKE)]

    async def due(self, now: int, limit: int) -> Ids:
        return [id for id, _alarm in self._read(_ALARMS, now, limit)]

    async def next_alarm(self) -> int | None:
        first = self._read(_ALARMS, _NO_TIME_IS_LATER, 1)
        return first[0][1] if first else None

    async def close(self) -> None:
        if self._group:
            await self._group.close()
        self._reader.close()
        if self._writer:
            # Fold the WAL into the file, unless a reader in another process needs it or the disk is full: what was
            # committed is as safe in the WAL.
            with contextlib.suppress(sqlite3.Error):
                self._writer.execute("PRAGMA busy_timeout = 0")
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._writer.close()

    def _read(self, sql: str, *values: str | int) -> _Rows:
        try:
            return self._reader.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise trouble(self.path, error) from error


def _row(values: _Record) -> ActorRow:
    id, namespace, name, key, created_at, awake, alarm, destroyed_at = values
    return ActorRow(id, namespace, name, parse_key(key), created_at, bool(awake), alarm, destroyed_at)


def _first(rows: _Rows) -> ActorRow | None:
    return _row(rows[0]) if rows else None


def _page_query(listing: Listing) -> tuple[str, list[str | int]]:
    where, values = ["namespace = ?"], list[str | int]([listing.namespace])
    if listing.name is not None:
        where.append("name = ?")
        values.append(listing.name)
    if not listing.include_destroyed:
        where.append("destroyed_at IS NULL")
    if listing.cursor is not None:
        where.append("(created_at, number) < (?, ?)")
        values += read_cursor(listing.cursor)
    sql = f"SELECT {_COLUMNS}, number FROM actors WHERE {' AND '.join(where)} "  # noqa: S608
    return sql + "ORDER BY created_at DESC, number DESC LIMIT ?", values
