"""Short ways to write down rows and batches."""

from __future__ import annotations

from rivetpy.store import ActorRow, Batch

START = 1_700_000_000_000


def row(
    id: str,
    *,
    key: tuple[str, ...] | None = None,
    name: str = "counter",
    namespace: str = "default",
    created_at: int = START,
    awake: bool = True,
    alarm: int | None = None,
    destroyed_at: int | None = None,
) -> ActorRow:
    return ActorRow(
        id, namespace, name, (id,) if key is None else key, created_at, awake, alarm, destroyed_at
    )


def born(id: str, **puts: str) -> Batch:
    """The first batch of an actor: its row, and entries as text."""
    return Batch(id, row=row(id), puts=entries(**puts))


def put(id: str, **puts: str) -> Batch:
    return Batch(id, puts=entries(**puts))


def entries(**puts: str) -> dict[bytes, bytes]:
    return {key.encode(): value.encode() for key, value in puts.items()}
