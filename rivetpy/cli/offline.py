"""The data directory as a source when no engine runs: the same answers, read-only, waking nothing."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rivetpy.cli.paging import Paged
from rivetpy.clock import SystemClock
from rivetpy.config import ACTOR_FILES, DATABASE
from rivetpy.engine.actorjson import actor_json
from rivetpy.engine.copy_routes import copy_json
from rivetpy.engine.inspector.journal import choose, lines_of, size_of
from rivetpy.engine.inspector.shapes import history_json, queue_json, state_json, summary_json
from rivetpy.host import archive, copying
from rivetpy.host.archive import Archive
from rivetpy.host.files import Files
from rivetpy.host.namespaces import Namespaces
from rivetpy.host.offline import view_rows
from rivetpy.host.record import ENDED, unpack
from rivetpy.host.view import ActorView
from rivetpy.identity import Key, parse_key
from rivetpy.store import ActorRow, Listing, Pairs
from rivetpy.store.sqlite import SqliteStore
from rivetpy.wire.jsonvalue import JsonObject
from rivetpy.workflow import layout


@dataclass(frozen=True, slots=True)
class Journaled:
    """An actor with its rows as stored."""

    row: ActorRow
    rows: Pairs

    @property
    def has_workflow(self) -> bool:
        """Whether it was made with a workflow."""
        return any(key == layout.WORKFLOW for key, _ in self.rows)

    @property
    def goes_on(self) -> bool:
        """Whether it has a workflow that did not come to its end."""
        return any(key == layout.WORKFLOW and unpack(value).status not in ENDED for key, value in self.rows)


class Offline:
    """One data directory. Every method raises StoreError when it can't be read."""

    def __init__(self, directory: Path, namespace: str, *, writable: bool = False) -> None:
        """``writable`` is for who holds the directory's lock."""
        self._store = SqliteStore.open(directory / DATABASE, read_only=not writable)
        self._files = Files(directory / ACTOR_FILES)
        self._namespace = namespace

    def actors(self, name: str | None, limit: int | None = None, cursor: str | None = None) -> Paged:
        """The actors, newest first, each with its summary."""

        def page(size: int, start: str | None) -> tuple[list[JsonObject], str | None]:
            wanted = Listing(self._namespace, name, limit=size, cursor=start)
            rows, after = asyncio.run(self._store.list(wanted))
            found = [
                actor_json(row, awake=False) | {"summary": summary_json(self._view(row))} for row in rows
            ]
            return found, after

        return Paged(page, limit, cursor)

    def journals(self, name: str | None) -> Iterator[Journaled]:
        """Every actor (of this name) with its rows, newest first."""
        return map(self._load, self._rows(self._namespace, name))

    def all_journals(self) -> Iterator[Journaled]:
        """Every actor of every namespace with its rows, newest first in each."""
        namespaces = Namespaces(self._store, SystemClock())
        asyncio.run(namespaces.load())
        for namespace in namespaces.all():
            yield from map(self._load, self._rows(namespace.name, None))

    def journal(self, actor: str) -> Journaled:
        """An actor with its rows, by its id."""
        return self._load(self._row(actor))

    def find(self, name: str, key: Key) -> JsonObject | None:
        """The actor of this name and key."""
        row = asyncio.run(self._store.find(self._namespace, name, key))
        return None if row is None else actor_json(row, awake=False)

    def inspect(self, actor: str, what: str) -> JsonObject:
        """``state`` or ``queue`` of an actor, by its id."""
        return _VIEWS[what](self._view(self._row(actor)))

    def history(self, actor: str, limit: int | None = None, since: int | None = None) -> JsonObject:
        """The actor's journal: all entries or the newest, or what may have changed ``since`` (epoch ms)."""
        row = self._row(actor)
        view = view_rows(row, self._load(row).rows, limit)
        if view.workflow is None:
            return {"size": 0} | history_json(view)
        chosen = tuple(choose(lines_of(view.workflow), limit, since))
        shown = dataclasses.replace(view, workflow=dataclasses.replace(view.workflow, entries=chosen))
        return {"size": size_of(view.workflow)} | history_json(shown)

    def export(self, actor: str) -> bytes:
        """The actor as a file, by its id."""
        return asyncio.run(copying.read(self._store, self._files, self._row(actor))).pack()

    def restore(self, data: bytes, key: str | None) -> JsonObject:
        """Make the actor of a file, under another key if given: the actor, and how much is in it."""
        given = archive.unpack(data)
        return self._write(given, None if key is None else parse_key(key))

    def fork(self, actor: str, key: str, location: str | None) -> JsonObject:
        """Copy an actor to another key, as it was before an entry if given."""
        given = asyncio.run(copying.read(self._store, self._files, self._row(actor)))
        given, left_out = copying.forked(given, location, _now())
        return self._write(given, parse_key(key)) | {"left_out": left_out}

    def _write(self, given: Archive, key: Key | None) -> JsonObject:
        return copy_json(
            asyncio.run(copying.add(self._store, self._files, self._namespace, given, key, _now()))
        )

    def close(self) -> None:
        """Let go of the file."""
        asyncio.run(self._store.close())

    def _rows(self, namespace: str, name: str | None) -> Iterator[ActorRow]:
        cursor: str | None = None
        while True:
            rows, cursor = asyncio.run(self._store.list(Listing(namespace, name, cursor=cursor)))
            yield from rows
            if cursor is None:
                return

    def _row(self, actor: str) -> ActorRow:
        row = asyncio.run(self._store.get(actor))
        if row is None:
            raise LookupError(actor)
        return row

    def _load(self, row: ActorRow) -> Journaled:
        return Journaled(row, asyncio.run(self._store.load(row.id)))

    def _view(self, row: ActorRow) -> ActorView:
        return view_rows(row, self._load(row).rows)


def _now() -> int:
    return time.time_ns() // 1_000_000


_VIEWS = {"state": state_json, "queue": queue_json}
