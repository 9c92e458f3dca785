"""A statement from outside on an actor's database: nothing but this database, no end left open, no flood of rows."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping, Sequence

from rivetpy.codec import Value
from rivetpy.errors import RivetError

Rows = list[dict[str, Value]]

#: Limits of one statement.
SECONDS = 30.0
MAX_ROWS = 10_000
MAX_BYTES = 16 * 1024 * 1024
#: What a value takes at least, with its name.
_EACH = 32
#: SQLite asks after so many of its instructions whether to go on.
_PACE = 20_000

#: What reaches other files, or outlives the statement.
_FORBIDDEN = frozenset(
    {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT}
)
#: Pragmas that only tell.
_TELLING = frozenset(
    {
        "foreign_key_check",
        "foreign_key_list",
        "index_info",
        "index_list",
        "index_xinfo",
        "integrity_check",
        "quick_check",
        "table_info",
        "table_list",
        "table_xinfo",
    }
)


def bounded(connection: sqlite3.Connection, sql: str, args: Sequence[Value] | Mapping[str, Value]) -> Rows:
    """Run it; its rows. Raises RivetError ``db.refused``: it went beyond a limit, or SQLite said no."""
    end = time.monotonic() + SECONDS
    connection.set_authorizer(_allowed)
    connection.set_progress_handler(lambda: time.monotonic() > end, _PACE)
    longest = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_BYTES)
    try:
        return _fetched(connection.execute(sql, args))
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
        late = f" It may take {SECONDS:g} seconds." if time.monotonic() > end else ""
        raise _refused(f"SQLite says: {error}.{late}") from error
    finally:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
        connection.set_progress_handler(None, 0)
        connection.set_authorizer(None)


def _allowed(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action in _FORBIDDEN or (action == sqlite3.SQLITE_PRAGMA and first not in _TELLING and second):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def _fetched(cursor: sqlite3.Cursor) -> Rows:
    names = [column[0] for column in cursor.description or ()]
    rows: Rows = []
    size = 0
    for row in cursor:
        size += sum(map(_size, row))
        if len(rows) == MAX_ROWS or size > MAX_BYTES:
            cursor.close()
            raise _refused(
                f"The answer has more than {MAX_ROWS} rows or {MAX_BYTES} bytes; add a LIMIT, or name fewer columns."
            )
        rows.append(dict(zip(names, row, strict=True)))
    return rows


def _size(value: Value) -> int:
    """Bytes that a value takes in an answer: each has a name, and of a blob every byte is shown as a number."""
    if isinstance(value, bytes):
        return _EACH + 4 * len(value)
    return _EACH + (len(value) if isinstance(value, str) else 0)


def _refused(message: str) -> RivetError:
    return RivetError("db", "refused", message, status=400)


def quoted(name: str) -> str:
    """A name of a table as SQL text."""
    return '"' + name.replace('"', '""') + '"'
