"""The file journal.db: opening it, its format, its tables.

One SQLite file in WAL mode, so that it can be read while an engine writes. Each actor has a small integer and
its entries' keys begin with that: what one actor stored lies together and is found without touching others.
"""

from __future__ import annotations

import contextlib
import enum
import logging
import os
import sqlite3
from pathlib import Path

from rivetpy.errors import StoreError
from rivetpy.store.tail import Tail, tail_of
from rivetpy.store.trouble import ELSEWHERE, damaged_log, trouble

log = logging.getLogger("rivetpy.store")

FILE_NAME = "journal.db"
#: "RIVT": says whose file it is, also to file(1).
APPLICATION = 0x52495654
FORMAT = 1

#: The WAL is folded into the file after so many pages (4 MiB). From then on it is overwritten, where a commit costs a
#: third less than where the file has to grow. It is cut to this many bytes when a reader that stayed long made it grow
#: beyond them.
_CHECKPOINT_PAGES = 1000
_WAL_LIMIT = 32 * 1024 * 1024
#: How long to wait for another program that holds the file locked, in milliseconds.
_BUSY = 2000

_SCHEMA = f"""
CREATE TABLE actors (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    awake INTEGER NOT NULL,
    alarm INTEGER,
    destroyed_at INTEGER
);
CREATE UNIQUE INDEX actors_identity ON actors (namespace, name, key) WHERE destroyed_at IS NULL;
CREATE INDEX actors_awake ON actors (number) WHERE awake = 1;
CREATE INDEX actors_alarm ON actors (alarm) WHERE awake = 0 AND alarm IS NOT NULL;
CREATE INDEX actors_newest ON actors (namespace, created_at, number, destroyed_at);
CREATE INDEX actors_newest_of_name ON actors (namespace, name, created_at, number, destroyed_at);
CREATE TABLE entries (
    actor INTEGER NOT NULL,
    key BLOB NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (actor, key)
) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
"""


class Durability(enum.StrEnum):
    """What a commit survives once it has returned."""

    #: A power cut: every commit is synced to the disk.
    DISK = "disk"
    #: The end of the process, not of the machine.
    PROCESS = "process"


def open_writer(path: Path, durability: Durability) -> sqlite3.Connection:
    """A connection that writes; makes the file when there is none.

    Raises `StoreError`: ``newer_format`` (the file stays as it is), ``damaged``, ``not_writable``, …
    """
    try:
        # 0600, whatever the umask: SQLite gives its side files the mode of the main one.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        _roll_back(path)
        fresh = _check_format(path)
        torn = not fresh and _check_tail(path, durability)
        db = _connect(path, "rw")
    except (OSError, sqlite3.Error) as error:
        raise trouble(path, error) from error
    try:
        _configure(db, durability)
        if torn:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # a later look must not take it for damage
        if fresh:
            db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
    except sqlite3.Error as error:
        db.close()
        raise trouble(path, error) from error
    return db


def _roll_back(path: Path) -> None:
    """Undo what a process that was killed while it made the file left half done: a connection that only reads can't."""
    if path.with_name(f"{path.name}-journal").exists():
        with contextlib.closing(_connect(path, "rw")) as db:
            db.execute("SELECT 1 FROM sqlite_master").fetchone()


def read_tail(path: Path) -> Tail | None:
    """What lies behind the end of the journal's log, None for nothing. Nobody may write meanwhile.

    Raises sqlite3.Error, OSError. Reads only: closing a connection that writes would fold the log into the file, and
    delete it.
    """
    with contextlib.closing(_connect(path, "ro")) as db:
        # SQLite finds the end of the log with the first read.
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
        return tail_of(path)


def _check_tail(path: Path, durability: Durability) -> bool:
    """Whether a torn commit lies behind the log's end. Raises `StoreError` ``damaged`` where it is more than that."""
    tail = read_tail(path)
    if tail is None:
        return False
    # Without syncs a power cut may leave any part of what was written last, and that was said.
    if tail.damaged and durability is Durability.DISK:
        raise damaged_log(tail)
    if tail.damaged:
        log.warning("%s", damaged_log(tail).message)
    return True


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that only reads, also while an engine writes or after one was killed.

    Raises `StoreError`: ``missing`` when there is no journal, and as `open_writer`.
    """
    if not path.exists():
        raise StoreError("missing", f"{path}: there is no journal here yet. Start `rivet dev`, {ELSEWHERE}.")
    try:
        if _check_format(path):
            raise StoreError("missing", f"{path}: the journal is empty. Start `rivet dev`, {ELSEWHERE}.")
        return _connect(path, "ro")
    except (OSError, sqlite3.Error) as error:
        raise trouble(path, error) from error


def connect_reader(path: Path) -> sqlite3.Connection:
    """A connection to any database, ours or an actor's own, that only reads, also where nothing can be written."""
    return _connect(path, "ro")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    # To read a log SQLite makes an index beside it. Where that is not allowed, as in a backup, and there is no log, so
    # that nobody writes, it has to be told that there is nothing to look out for.
    still = (
        mode == "ro"
        and not path.with_name(f"{path.name}-wal").exists()
        and not os.access(path.parent, os.W_OK)
    )
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}{'&immutable=1' if still else ''}",
        uri=True,
        timeout=_BUSY / 1000,
        isolation_level=None,
        check_same_thread=False,  # a slow sync runs in a thread; `group` keeps uses apart
        cached_statements=256,
    )


def _configure(db: sqlite3.Connection, durability: Durability) -> None:
    full = durability is Durability.DISK
    db.execute("PRAGMA journal_mode = WAL")
    db.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
    db.execute(f"PRAGMA fullfsync = {int(full)}")  # on macOS a plain fsync stops at the drive's cache
    db.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    db.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")


def _check_format(path: Path) -> bool:
    """Whether the file has yet to be filled. Reads only: a file that is refused keeps every byte.

    The place for a migration is between this and `_connect`: copy the file, then bring it to `FORMAT`.
    """
    if path.stat().st_size == 0:
        return True
    db = _connect(path, "ro")
    try:
        application, version, tables = (
            int(db.execute(query).fetchone()[0])
            for query in (
                "PRAGMA application_id",
                "PRAGMA user_version",
                "SELECT count(*) FROM sqlite_master",
            )
        )
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_READONLY_ROLLBACK:
            raise
        return True  # killed while it was made, and nobody has started since
    finally:
        db.close()
    if application == APPLICATION and version > FORMAT:
        raise StoreError(
            "newer_format",
            f"{path}: written in format {version}; this rivetpy reads format {FORMAT}. "
            f"Upgrade rivetpy, {ELSEWHERE}.",
        )
    if application != APPLICATION and tables:
        raise StoreError("damaged", f"{path}: a database of another program. Move it away, {ELSEWHERE}.")
    return not tables
