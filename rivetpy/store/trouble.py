"""What the disk and SQLite complain about, as one clear line: which path, why, and what next."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from rivetpy.errors import StoreError
from rivetpy.store import ActorRow
from rivetpy.store.tail import Tail

if TYPE_CHECKING:
    import asyncio

ELSEWHERE = "or choose another place with --data-dir or RIVET_DATA_DIR"

_SQLITE_CODES = {
    sqlite3.SQLITE_FULL: "disk_full",
    sqlite3.SQLITE_READONLY: "not_writable",
    sqlite3.SQLITE_PERM: "not_writable",
    sqlite3.SQLITE_AUTH: "not_writable",
    sqlite3.SQLITE_CANTOPEN: "not_writable",
    sqlite3.SQLITE_NOTADB: "damaged",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
}
_ERRNO_CODES = {
    errno.ENOSPC: "disk_full",
    errno.EDQUOT: "disk_full",
    errno.EIO: "io_error",
}
_ADVICE = {
    "disk_full": f"Nothing of this write was kept: free some space, {ELSEWHERE}.",
    "not_writable": f"Make it writable for this user, {ELSEWHERE}.",
    "damaged": f"It is damaged or not a journal and was left as it is: restore a copy, {ELSEWHERE}.",
    "busy": "Another program keeps it locked: close that program and try again.",
    "io_error": f"Whether this write was kept shows at the next start: check the disk, {ELSEWHERE}.",
}


def trouble(path: Path, error: sqlite3.Error | OSError) -> StoreError:
    """The `StoreError` that tells a person what this error about ``path`` means."""
    if isinstance(error, OSError):
        code = _ERRNO_CODES.get(error.errno or 0, "not_writable")
        reason = error.strerror or str(error)
    elif isinstance(error, sqlite3.ProgrammingError):
        return closed(path)
    else:
        # The low byte of an extended result code is its kind.
        code = _SQLITE_CODES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "io_error")
        reason = str(error)
    return StoreError(code, f"{path}: {reason}. {_ADVICE[code]}")


def damaged_log(tail: Tail) -> StoreError:
    """Commits that were acknowledged can't be read any more, because something before them can't."""
    return StoreError(
        "damaged",
        f"{tail.path}: damaged at or after byte {tail.offset}, and at least {tail.commits} commits behind it can't be "
        f"reached. It was left as it is: restore a copy, {ELSEWHERE}. To go on without what is lost, cut it there: "
        f"truncate -s {tail.offset} {tail.path.name}",
    )


def duplicate_key(row: ActorRow, owner: str) -> StoreError:
    """The name and key of a new row are those of the actor ``owner``."""
    return StoreError(
        "duplicate_key", f"{row.namespace}: the key {row.key!r} of {row.name!r} is taken by actor {owner}."
    )


def unknown_actor(actor: str) -> StoreError:
    """A batch for an actor that has no row and brings none."""
    return StoreError("unknown_actor", f"Actor {actor!r} has no row; the first batch of an actor brings it.")


def invalid_batch(actor: str, error: Exception) -> StoreError:
    """A batch holds what a store can't: a mistake in the program, not of the disk."""
    return StoreError("invalid_batch", f"A batch of actor {actor!r} can't be stored: {error}")


def closed(path: Path | str) -> StoreError:
    """Something was asked of a store after `Store.close`."""
    return StoreError("closed", f"{path}: the store is closed.")


def refused(error: StoreError) -> asyncio.Future[None]:
    """What a commit that is refused at once returns: whoever awaits it is told."""
    import asyncio

    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_exception(error)
    return done
