"""Where the actors' own databases are: one file each, named by the actor's id."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from rivetpy.actors import ActorDefinition
from rivetpy.host.database import Database, NoDatabase
from rivetpy.store import ActorRow
from rivetpy.store.database import connect_reader

_SUFFIX = ".db"


class Files:
    """The databases in a directory; without one (an engine in memory) in a temporary one, until `close`."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._temporary: str | None = None

    def database(self, row: ActorRow, definition: ActorDefinition) -> Database | NoDatabase:
        """An actor's database."""
        return Database(lambda: self._made(row.id)) if definition.db else NoDatabase(row.name)

    def forget(self, actor_id: str) -> None:
        """Delete what there is of an actor."""
        directory = self._directory or (self._temporary and Path(self._temporary))
        if directory:
            for suffix in ("", "-wal", "-shm"):
                (directory / f"{actor_id}{_SUFFIX}{suffix}").unlink(missing_ok=True)

    def read(self, actor_id: str) -> bytes | None:
        """An actor's database as it is committed now, also while the actor uses it; None: it has none. Blocks."""
        path = self._path(actor_id)
        if not path.is_file():
            return None
        with contextlib.closing(connect_reader(path)) as db:
            return db.serialize()

    def write(self, actor_id: str, data: bytes) -> None:
        """Give a new actor a database. Blocks. Raises ValueError when it is none, or damaged."""
        path = self._made(actor_id)
        try:
            path.write_bytes(data)
            path.chmod(0o600)
            problem = problem_of(path)
            with path.open("rb") as file:
                os.fsync(file.fileno())
        except BaseException:
            self.forget(actor_id)
            raise
        if problem is not None:
            self.forget(actor_id)
            raise ValueError(problem)

    def left_behind(self) -> list[str]:
        """Ids of all actors that have a file."""
        if self._directory is None or not self._directory.is_dir():
            return []
        return [path.stem for path in self._directory.glob(f"*{_SUFFIX}")]

    async def sweep(self, ids: list[str], find: Callable[[str], Awaitable[ActorRow | None]]) -> None:
        """Delete files of actors that are no more: an engine that died while it destroyed them left them behind."""
        for actor_id in ids:
            row = await find(actor_id)
            if row is None or row.destroyed_at is not None:
                self.forget(actor_id)

    def close(self) -> None:
        """The engine stops."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def _path(self, actor_id: str) -> Path:
        if self._directory is None:
            self._temporary = self._temporary or tempfile.mkdtemp(prefix="rivet-")
            return Path(self._temporary) / f"{actor_id}{_SUFFIX}"
        return self._directory / f"{actor_id}{_SUFFIX}"

    def _made(self, actor_id: str) -> Path:
        """The same, in a directory that is there."""
        path = self._path(actor_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def problem_of(path: Path) -> str | None:
    """What is wrong with a database. Blocks."""
    try:
        with contextlib.closing(connect_reader(path)) as db:
            (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        return str(error)
    return None if found == "ok" else str(found)
