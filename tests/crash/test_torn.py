"""A journal whose last bytes never reached the disk: what was torn is gone, all before it is there, and it goes on."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from rivetpy.store import ActorRow, Batch
from rivetpy.store.sqlite import Durability, SqliteStore

ROW = ActorRow("id", "default", "a", ("k",), 1)


async def recorded(store: SqliteStore) -> list[int]:
    return [int.from_bytes(key) for key, _ in await store.load("id")]


async def write(store: SqliteStore, *numbers: int) -> None:
    for number in numbers:
        await store.commit(Batch("id", puts={number.to_bytes(4): b"v" * 300}, row=ROW))


def test_a_torn_end_costs_what_was_torn_and_nothing_else(tmp_path: Path) -> None:
    async def script() -> None:
        store = SqliteStore.open(tmp_path / "journal.db", Durability.PROCESS)
        await write(store, *range(3))
        whole = (tmp_path / "journal.db-wal").stat().st_size
        await write(store, *range(3, 6))
        for name in ("journal.db", "journal.db-wal"):
            shutil.copy(tmp_path / name, tmp_path / f"{name}.copy")
        await store.close()
        wal = (tmp_path / "journal.db-wal.copy").read_bytes()
        frame = 4096 + 24
        offsets = {
            *range(whole, len(wal), 509),
            *(at + n for at in range(whole, len(wal), frame) for n in (-1, 0, 1)),
        }
        for offset in sorted(offsets):
            place = tmp_path / str(offset)
            place.mkdir()
            shutil.copy(tmp_path / "journal.db.copy", place / "journal.db")
            (place / "journal.db-wal").write_bytes(wal[:offset])
            torn = SqliteStore.open(place / "journal.db", Durability.PROCESS)
            kept = await recorded(torn)
            assert kept == list(range(len(kept))) and len(kept) >= 2 + (offset >= whole), offset
            await write(torn, 99)
            await torn.close()
            again = SqliteStore.open(place / "journal.db", Durability.PROCESS)
            assert await recorded(again) == [*kept, 99]
            await again.close()

    asyncio.run(script())
