"""An actor copied: read whole from a store, and written whole into one, with or without an engine.

A copy sleeps, and no alarm wakes it: nothing of it runs before somebody wants it to. What is done to the outside
world would else be done twice, by it and by the one it was copied from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rivetpy.errors import RivetError
from rivetpy.host import control
from rivetpy.host.archive import Archive, damaged
from rivetpy.host.database import in_thread
from rivetpy.host.files import Files
from rivetpy.host.offline import view_rows
from rivetpy.host.record import WorkflowStatus, unpack
from rivetpy.identity import Key, format_key, new_id
from rivetpy.store import ActorRow, Batch, Store
from rivetpy.store.memory import put_entries
from rivetpy.workflow import layout
from rivetpy.workflow.entries import Kind


@dataclass(frozen=True, slots=True)
class Copy:
    """An actor that was made, and how much is in it."""

    row: ActorRow
    entries: int
    messages: int
    #: Scheduled calls and cron jobs of the original that the copy has not.
    left_out: int = 0


async def read(store: Store, files: Files, row: ActorRow) -> Archive:
    """An actor as it is committed now, without what opens its inspector."""
    rows = [item for item in await store.load(row.id) if item[0] != layout.TOKEN]
    database = await in_thread(lambda: files.read(row.id))
    return Archive(row.id, row.name, row.key, row.created_at, rows, database)


def forked(archive: Archive, location: str | None, now: int) -> tuple[Archive, int]:
    """What a fork takes: all but the calls to come, as it was before an entry if given; and how many it leaves out.

    Raises RivetError as `control.rewind`.
    """
    clockwork = (layout.CALL, layout.CRON)
    kept = {key: value for key, value in archive.rows if not key.startswith((*clockwork, layout.UNDO))}
    left_out = sum(key.startswith(clockwork) for key, _ in archive.rows)
    if location is not None:
        if layout.WORKFLOW in kept:  # which was ended for good, perhaps; the copy goes on
            kept[layout.WORKFLOW] = replace(
                unpack(kept[layout.WORKFLOW]), status=WorkflowStatus.RUNNING
            ).pack()
        row = ActorRow(archive.id, "", archive.name, archive.key, archive.created_at)
        batch, _ = control.rewind(row, sorted(kept.items()), location, now)
        put_entries(kept, batch)
        del kept[layout.UNDO]
    return replace(archive, rows=sorted(kept.items())), left_out


async def add(
    store: Store, files: Files, namespace: str, archive: Archive, key: Key | None, now: int
) -> Copy:
    """Make the actor of an archive, or another one like it under ``key``.

    The same one keeps its id where that is free: steps that were cut off then have the idempotency keys they had.
    Raises RivetError ``actor.duplicate_key``, ``archive.damaged``, and `StoreError`.
    """
    identity = (namespace, archive.name, archive.key if key is None else key)
    taken = await store.find(*identity)
    if taken is not None:
        raise duplicate_key(taken)
    same = key is None and await store.get(archive.id) is None
    id, created_at = (archive.id, archive.created_at) if same else (new_id(), now)
    return await _write(store, files, archive, ActorRow(id, *identity, created_at, awake=False))


async def _write(store: Store, files: Files, archive: Archive, row: ActorRow) -> Copy:
    """Make the actor, in one commit; its database before that. Raises `StoreError`, RivetError ``archive.damaged``."""
    database = archive.database
    if database is not None:
        try:
            await in_thread(lambda: files.write(row.id, database))
        except ValueError as error:
            raise damaged(f"its database: {error}") from error
    try:
        puts = {key: value for key, value in archive.rows if key != layout.TOKEN}  # it gets one of its own
        await store.commit(Batch(row.id, puts=puts, row=row))
    except BaseException:
        files.forget(row.id)
        raise
    view = view_rows(row, archive.rows)
    entries = view.workflow.entries if view.workflow else ()
    return Copy(row, sum(entry.kind is not Kind.ITERATION for entry in entries), len(view.queue))


def duplicate_key(row: ActorRow) -> RivetError:
    """The error that tells who has a key."""
    key = format_key(row.key)
    return RivetError(
        "actor",
        "duplicate_key",
        f"Actor key '{key}' already in use for actor '{row.id}'",
        {"existing_actor_id": row.id, "key": key},
    )
