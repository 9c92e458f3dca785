"""c.db and step.db: an SQLite database of the actor's own, in a file of its own (spec actors 2)."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

from rivetpy.codec import Value
from rivetpy.errors import RivetError
from rivetpy.host.bounded import bounded
from rivetpy.unbroken import finished
from rivetpy.workflow import abilities

T = TypeVar("T")
Rows = list[dict[str, Value]]

#: SQLite blocks: it gets threads of its own.
_threads = ThreadPoolExecutor(max_workers=16, thread_name_prefix="rivet-db")


async def in_thread(work: Callable[[], T]) -> T:
    """Await what blocks on a database."""
    return await finished(asyncio.get_running_loop().run_in_executor(_threads, work))


@dataclass(eq=False, slots=True)
class _Transaction:
    """An open transaction; what runs in its context, in tasks of their own too, is part of it."""

    database: Database
    outer: _Transaction | None
    depth: int = 0
    over: bool = False


_current: ContextVar[_Transaction | None] = ContextVar("transaction", default=None)


class Database(abilities.Database):
    """One actor's database while it is awake; opened when it is first used."""

    def __init__(self, path: Callable[[], Path]) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        #: Held by a transaction, or one statement outside of any.
        self._turn = asyncio.Lock()
        #: Held while a thread has the connection.
        self._busy = asyncio.Lock()

    async def execute(self, sql: str, *args: Value) -> Rows:
        if self._inside() is not None:
            return await self._execute(sql, args)
        async with self._turn:
            return await self._execute(sql, args)

    async def query(self, sql: str, args: Sequence[Value] | Mapping[str, Value]) -> Rows:
        """A statement of whoever looks in from outside: within bounds, and outside of every transaction.

        Raises RivetError ``db.refused`` with what SQLite says.
        """
        async with self._turn:
            return await self._in_thread(lambda: bounded(self._opened(), sql, args))

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        inside = self._inside()
        if inside is not None:
            async with self._savepoint(inside):
                yield
            return
        async with self._turn:
            opened = _Transaction(self, _current.get())
            async with self._undone_unless_ended("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"):
                before = _current.set(opened)
                try:
                    yield
                finally:
                    opened.over = True
                    _current.reset(before)

    @contextlib.asynccontextmanager
    async def _savepoint(self, inside: _Transaction) -> AsyncIterator[None]:
        inside.depth += 1
        name = f"inner{inside.depth}"
        undo = f"ROLLBACK TO {name}"
        try:
            async with self._undone_unless_ended(f"SAVEPOINT {name}", f"RELEASE {name}", undo):
                yield
        finally:
            inside.depth -= 1

    @contextlib.asynccontextmanager
    async def _undone_unless_ended(self, begin: str, end: str, undo: str) -> AsyncIterator[None]:
        await self._execute(begin, ())
        try:
            yield
            await self._execute(end, ())
        except BaseException:
            with contextlib.suppress(sqlite3.Error, RivetError):  # the first error says more
                await self._execute(undo, ())
            raise

    def _inside(self) -> _Transaction | None:
        """The open transaction of this database that the caller is part of."""
        each = _current.get()
        while each is not None and (each.over or each.database is not self):
            each = each.outer
        return each

    async def _execute(self, sql: str, args: tuple[Value, ...]) -> Rows:
        return await self._in_thread(lambda: self._rows(sql, args))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        async with self._busy:  # until the thread is done, also for a caller that is cancelled
            return await in_thread(work)

    def _rows(self, sql: str, args: tuple[Value, ...]) -> Rows:
        named = len(args) == 1 and isinstance(args[0], Mapping)
        cursor = self._opened().execute(sql, args[0] if named else args)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def _opened(self) -> sqlite3.Connection:
        if self._closed:
            raise RivetError("actor", "restarting", "The actor left memory; its database is closed.")
        if self._connection is None:
            path = self._path()
            connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
                connection.execute(f"PRAGMA {pragma}")
            self._connection = connection
        return self._connection

    async def close(self) -> None:
        """Let go of the file."""
        if not self._closed and self._connection is not None:
            await self._in_thread(self._close)
        self._closed = True

    def give_up(self) -> None:
        """Let go of the file as soon as no thread uses it; roll back what is open."""
        if not self._closed and self._connection is not None:
            _threads.submit(self._close)
        self._closed = True

    def _close(self) -> None:
        self._closed = True
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class NoDatabase(abilities.Database):
    """What an actor has that asked for no database."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def execute(self, sql: str, *args: Value) -> Rows:
        raise self._error()

    async def query(self, sql: str, args: Sequence[Value] | Mapping[str, Value]) -> Rows:
        raise self._error()

    def transaction(self) -> NoReturn:
        raise self._error()

    def _error(self) -> RivetError:
        return RivetError(
            "db",
            "not_enabled",
            f"Actor {self._name!r} has no database; define it with actor(db=True).",
            status=400,
        )

    async def close(self) -> None:
        """Nothing is open."""

    def give_up(self) -> None:
        """Nothing is open."""
