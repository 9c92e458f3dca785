"""Writing batches to the SQLite file: a group of them is one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import TypeGuard

from rivetpy.errors import StoreError
from rivetpy.identity import format_key
from rivetpy.store import ActorRow, Batch
from rivetpy.store.group import Result
from rivetpy.store.trouble import duplicate_key, invalid_batch, trouble, unknown_actor

#: So many actors' numbers are remembered; beyond that they are looked up again.
_REMEMBERED = 4096

_NUMBER = "SELECT number FROM actors WHERE id = ?"
_OWNER = "SELECT id FROM actors WHERE namespace = ? AND name = ? AND key = ? AND destroyed_at IS NULL"
_INSERT_ROW = (
    "INSERT INTO actors (id, namespace, name, key, created_at, awake, alarm, destroyed_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
# Two statements, so that going to sleep and waking touch no index but the ones they are about.
_UPDATE_ROW = "UPDATE actors SET awake = ?, alarm = ? WHERE number = ?"
_DESTROY_ROW = "UPDATE actors SET destroyed_at = ? WHERE number = ?"
_CLEAR = "DELETE FROM entries WHERE actor = ?"
_DELETE = "DELETE FROM entries WHERE actor = ? AND key = ?"
_DELETE_FROM = "DELETE FROM entries WHERE actor = ? AND key >= ?"
_DELETE_RANGE = "DELETE FROM entries WHERE actor = ? AND key >= ? AND key < ?"
_PUT = "INSERT OR REPLACE INTO entries (actor, key, value) VALUES (?, ?, ?)"


#: Why the first refused batch of an actor was, within a group.
_Refused = dict[str, StoreError]


class SqliteTransaction:
    """The `group.Transaction` of a SQLite file."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self._path = path
        self._db = db
        self._numbers: dict[str, int] = {}
        #: A commit failed, and its frames may be whole in the log all the same.
        self._unsure = False

    def apply(self, batches: list[Batch]) -> list[Result]:
        if self._db.in_transaction:  # an interrupt hit the last group
            self._roll_back()
        try:
            if self._unsure:
                self._clear_log()
            self._db.execute("BEGIN IMMEDIATE")
            refused: _Refused = {}
            return [self._apply_or_refuse(batch, refused) for batch in batches]
        except Exception as error:
            self._roll_back()
            if _of_the_store(error):
                return [trouble(self._path, error) for _ in batches]
        return self._apply_apart(batches)

    def sync(self) -> Result:
        if not self._db.in_transaction:
            return None
        try:
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._unsure = True
            self._roll_back()
            return trouble(self._path, error)
        return None

    def _clear_log(self) -> None:
        """What was refused must not come back after a crash: fold what was committed into the file, and empty the log.

        Raises sqlite3.Error: then nothing can be committed yet.
        """
        busy, *_ = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        self._unsure = bool(busy)  # a reader is in the way; the next group tries again

    def _roll_back(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._numbers.clear()  # some may be of rows that went with it

    def _apply_apart(self, batches: Iterable[Batch]) -> list[Result]:
        """One of the batches holds what SQLite can't: find out which, and keep the others."""
        results: list[Result] = []
        refused: _Refused = {}
        self._db.execute("BEGIN IMMEDIATE")
        for batch in batches:
            self._db.execute("SAVEPOINT one")
            try:
                results.append(self._apply_or_refuse(batch, refused))
            except Exception as error:
                if _of_the_store(error):
                    self._roll_back()
                    return [trouble(self._path, error) for _ in batches]
                self._db.execute("ROLLBACK TO one")
                self._numbers.clear()
                results.append(refused.setdefault(batch.actor, invalid_batch(batch.actor, error)))
            self._db.execute("RELEASE one")
        return results

    def _apply_or_refuse(self, batch: Batch, refused: _Refused) -> Result:
        """Make the changes of a batch, unless it comes behind one of its actor that was refused."""
        if (result := refused.get(batch.actor)) is None and (result := self._apply_batch(batch)) is not None:
            refused[batch.actor] = result
        return result

    def _apply_batch(self, batch: Batch) -> Result:
        number = self._number(batch.actor)
        if batch.row is not None:
            refused = self._write_row(number, batch.row)
            if refused:
                return refused
            number = number or self._number(batch.actor)
        if number is None:
            return unknown_actor(batch.actor)
        self._write_entries(number, batch)
        return None

    def _number(self, actor: str) -> int | None:
        number = self._numbers.get(actor)
        if number is None:
            found = self._db.execute(_NUMBER, (actor,)).fetchone()
            if found is None:
                return None
            if len(self._numbers) >= _REMEMBERED:
                self._numbers.clear()
            number = self._numbers[actor] = found[0]
        return number

    def _write_row(self, number: int | None, row: ActorRow) -> Result:
        """Insert or change the row; the caller's transaction has changed nothing of the batch before."""
        if number is None:
            identity = (row.namespace, row.name, format_key(row.key))
            owner = self._db.execute(_OWNER, identity).fetchone()
            if owner and row.destroyed_at is None:
                return duplicate_key(row, owner[0])
            values = (row.id, *identity, row.created_at, row.awake, row.alarm, row.destroyed_at)
            self._db.execute(_INSERT_ROW, values)
            return None
        self._db.execute(_UPDATE_ROW, (row.awake, row.alarm, number))
        if row.destroyed_at is not None:
            self._db.execute(_DESTROY_ROW, (row.destroyed_at, number))
        return None

    def _write_entries(self, number: int, batch: Batch) -> None:
        if batch.clear:
            self._db.execute(_CLEAR, (number,))
        for prefix in batch.prefixes:
            end = prefix_end(prefix)
            if end is None:
                self._db.execute(_DELETE_FROM, (number, prefix))
            else:
                self._db.execute(_DELETE_RANGE, (number, prefix, end))
        if batch.deletes:
            self._db.executemany(_DELETE, [(number, key) for key in batch.deletes])
        if len(batch.puts) == 1:  # the common case: one entry of one verb
            ((key, value),) = batch.puts.items()
            self._db.execute(_PUT, (number, key, value))
        elif batch.puts:
            self._db.executemany(_PUT, [(number, key, value) for key, value in batch.puts.items()])


def prefix_end(prefix: bytes) -> bytes | None:
    """The first key after all keys with this prefix; None when there is no such key."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def _of_the_store(error: Exception) -> TypeGuard[sqlite3.Error]:
    """Whether the file is the trouble, not something in a batch that can't be bound."""
    if not isinstance(error, sqlite3.Error):
        return False
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_TOOBIG)
    return (
        code not in (sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH)
        and code & 0xFF != sqlite3.SQLITE_CONSTRAINT
    )
