"""Where the actors' own databases are: one file each, named by the actor's id."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from rivetpy.actors import ActorDefinition
from rivetpy.host.database import Database, NoDatabase
from rivetpy.store import ActorRow

_SUFFIX = ".db"


class Files:
    """The databases in a directory; without one (an engine in memory) in a temporary one, until `close`."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._temporary: str | None = None

    def database(self, row: ActorRow, definition: ActorDefinition) -> Database | NoDatabase:
        """An actor's database."""
        return Database(lambda: self._path(row.id)) if definition.db else NoDatabase(row.name)

    def forget(self, actor_id: str) -> None:
        """Delete what there is of an actor."""
        directory = self._directory or (self._temporary and Path(self._temporary))
        if directory:
            for suffix in ("", "-wal", "-shm"):
                (directory / f"{actor_id}{_SUFFIX}{suffix}").unlink(missing_ok=True)

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
        self._directory.mkdir(parents=True, exist_ok=True)
        return self._directory / f"{actor_id}{_SUFFIX}"
