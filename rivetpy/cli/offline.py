"""The data directory as a source when no engine runs: the same answers, read-only, waking nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from rivetpy.config import DATABASE
from rivetpy.engine.actorjson import actor_json
from rivetpy.engine.inspector import history_json, queue_json, state_json, summary_json
from rivetpy.host.offline import view_rows
from rivetpy.host.view import ActorView
from rivetpy.identity import Key
from rivetpy.store import ActorRow
from rivetpy.store.sqlite import SqliteStore
from rivetpy.wire.jsonvalue import JsonObject


class Offline:
    """One data directory. Every method raises StoreError when it can't be read."""

    def __init__(self, directory: Path, namespace: str) -> None:
        self._store = SqliteStore.open(directory / DATABASE, read_only=True)
        self._namespace = namespace

    def actors(self, name: str | None) -> Iterator[JsonObject]:
        """Every actor, newest first, each with its summary."""
        cursor: str | None = None
        while True:
            rows, cursor = asyncio.run(self._store.list(self._namespace, name, cursor=cursor))
            for row in rows:
                yield {**actor_json(row, awake=False), "summary": summary_json(self._view(row))}
            if cursor is None:
                return

    def find(self, name: str, key: Key) -> JsonObject | None:
        """The actor of this name and key."""
        row = asyncio.run(self._store.find(self._namespace, name, key))
        return None if row is None else actor_json(row, awake=False)

    def inspect(self, actor: str, what: str) -> JsonObject:
        """``state``, ``queue`` or ``workflow-history`` of an actor, by its id."""
        row = asyncio.run(self._store.get(actor))
        if row is None:
            raise LookupError(actor)
        return _VIEWS[what](self._view(row))

    def close(self) -> None:
        """Let go of the file."""
        asyncio.run(self._store.close())

    def _view(self, row: ActorRow) -> ActorView:
        return view_rows(row, asyncio.run(self._store.load(row.id)))


_VIEWS = {"workflow-history": history_json, "state": state_json, "queue": queue_json}
