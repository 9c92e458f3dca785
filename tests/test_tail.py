"""The end of the write-ahead log: torn after a power cut, or damaged in its middle, which is never taken for an end."""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
from pathlib import Path

import pytest

from rivetpy.errors import StoreError
from rivetpy.store.sqlite import Durability, SqliteStore
from rivetpy.store.tail import tail_of
from rivetpy.store.writing import SqliteTransaction
from tests.support.rows import born, put

COMMITS = 8
#: How far apart the offsets are that are tried.
STEPS = [379, pytest.param(1, marks=pytest.mark.long)]


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a store that was killed after some commits."""
    place = tmp_path_factory.mktemp("killed")
    copy = place / "copy"
    copy.mkdir()

    async def write() -> None:
        store = SqliteStore.open(place / "journal.db")
        await store.commit(born("a", n="-1"))
        assert store._writer is not None
        store._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for number in range(COMMITS):
            await store.commit(put("a", n=str(number), more="x" * 5000))
        for name in ("journal.db", "journal.db-wal"):
            shutil.copy(place / name, copy / name)
        await store.close()

    asyncio.run(write())
    return copy


def opened(directory: Path, wal: bytes, crashed: Path, durability: Durability = Durability.DISK) -> int:
    """The last number that is there, after one more commit and another start. Raises StoreError."""
    directory.mkdir(exist_ok=True)
    for file in directory.iterdir():
        file.unlink()
    shutil.copy(crashed / "journal.db", directory / "journal.db")
    (directory / "journal.db-wal").write_bytes(wal)

    async def look() -> int:
        store = SqliteStore.open(directory / "journal.db", durability)
        last = int(dict(await store.load("a"))[b"n"])
        await store.commit(put("a", after="it"))
        await store.close()
        store = SqliteStore.open(directory / "journal.db", durability)
        assert dict(await store.load("a"))[b"after"] == b"it"
        await store.close()
        return last

    return asyncio.run(look())


@pytest.mark.parametrize("step", STEPS)
def test_cut_at_every_offset_of_the_last_commit(crashed: Path, tmp_path: Path, step: int) -> None:
    wal = (crashed / "journal.db-wal").read_bytes()
    frame = 24 + 4096
    size = len(wal) // COMMITS // frame * frame
    for offset in (*range(len(wal) - size, len(wal), step), len(wal) - 1):
        assert opened(tmp_path / "cut", wal[:offset], crashed) == COMMITS - 2
    assert opened(tmp_path / "cut", wal, crashed) == COMMITS - 1


@pytest.mark.parametrize("step", STEPS)
def test_a_byte_flipped_anywhere_loses_at_most_the_end_without_a_word(
    crashed: Path, tmp_path: Path, step: int
) -> None:
    whole = (crashed / "journal.db-wal").read_bytes()
    size = len(whole) // COMMITS
    refused = 0
    heads = [32 + frame * 4120 + at for frame in range(len(whole) // 4120) for at in (0, 3, 6, 9, 14, 20)]
    for offset in (*range(32), *heads, *range(100, len(whole), step * 7)):
        wal = bytearray(whole)
        wal[offset] ^= 0x10
        try:
            last = opened(tmp_path / "flip", bytes(wal), crashed)
        except StoreError as error:
            refused += 1
            assert error.code == "damaged" and "journal.db-wal: damaged at or after byte" in error.message
            told = int(error.message.split("byte ")[1].split(",")[0])
            assert told <= offset
            assert (tmp_path / "flip" / "journal.db-wal").read_bytes() == bytes(wal), "it is left as it is"
            assert opened(tmp_path / "flip", bytes(wal)[:told], crashed) < COMMITS - 1, "the way out is one"
        else:
            assert last >= COMMITS - 3 and offset >= len(whole) - 2 * size - 64, offset
    assert refused > 100


def test_without_syncs_a_hole_is_told_and_not_refused(
    crashed: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A power cut may leave any part then; that is what ``process`` means."""
    wal = bytearray((crashed / "journal.db-wal").read_bytes())
    wal[len(wal) // 2] ^= 1
    with caplog.at_level(logging.WARNING, "rivetpy.store"):
        assert opened(tmp_path / "hole", bytes(wal), crashed, Durability.PROCESS) < COMMITS - 1
    (told,) = (record.getMessage() for record in caplog.records)
    assert "can't be reached" in told


def test_the_rest_of_an_older_log_is_no_damage(tmp_path: Path) -> None:
    """A log that begins anew overwrites the old one from its start; what lies behind is of no account."""

    async def write() -> None:
        store = SqliteStore.open(tmp_path / "journal.db")
        assert store._writer is not None
        await store.commit(born("a"))
        for number in range(5):
            await store.commit(put("a", n=str(number), more="x" * 5000))
        store._writer.execute("PRAGMA wal_checkpoint(FULL)")
        await store.commit(put("a", n="new"))
        assert tail_of(store.path) is None
        await store.close()

    asyncio.run(write())


@pytest.mark.parametrize("killed", ["before the log's header is written", "while it is written"])
def test_killed_where_the_log_begins_anew(tmp_path: Path, killed: str) -> None:
    """SQLite resets the index first, which a reader keeps alive, then the log's header: the frames are still the old
    ones, all of which the file has by then."""
    copy = tmp_path / "copy"
    copy.mkdir()

    async def write() -> bytes:
        store = SqliteStore.open(tmp_path / "journal.db")
        assert store._writer is not None
        await store.commit(born("a"))
        for number in range(5):
            await store.commit(put("a", n=str(number), more="x" * 5000))
        unfolded = (tmp_path / "journal.db").read_bytes()
        store._writer.execute("PRAGMA wal_checkpoint(FULL)")
        for name in ("journal.db", "journal.db-wal"):
            shutil.copy(tmp_path / name, copy / name)
        await store.close()
        return unfolded

    unfolded = asyncio.run(write())
    log = copy / "journal.db-wal"
    wal = log.read_bytes()
    if killed == "while it is written":
        log.write_bytes(wal[:12] + (2).to_bytes(4) + wal[16:])
    salts = (int.from_bytes(wal[16:20]) + 1).to_bytes(4) + b"new!"
    (copy / "journal.db-shm").write_bytes(bytes(32) + salts + bytes(8))
    tail = tail_of(copy / "journal.db")
    assert tail is not None and not tail.damaged
    if killed == "before the log's header is written":
        log.write_bytes(wal + wal[32:-1].replace(b"x", b"y"))
        tail = tail_of(copy / "journal.db")
        assert tail is not None and not tail.damaged, "with a torn commit behind them"
        log.write_bytes(wal)
    for name in ("journal.db", "journal.db-wal"):
        shutil.copy(copy / name, tmp_path / name)

    async def look() -> None:
        store = SqliteStore.open(tmp_path / "journal.db")
        assert dict(await store.load("a"))[b"n"] == b"4"
        await store.close()

    asyncio.run(look())
    (copy / "journal.db").write_bytes(unfolded)
    (copy / "journal.db-shm").write_bytes(bytes(48))
    log.write_bytes(wal[:12] + (2).to_bytes(4) + wal[16:])
    tail = tail_of(copy / "journal.db")
    assert tail is not None and tail.damaged and tail.offset == 0, "what the file does not have is lost"


def test_a_commit_that_failed_leaves_nothing_in_the_log(tmp_path: Path) -> None:
    """SQLite writes before it syncs: when the sync fails, the frames of what was refused are there all the same."""

    class Failing:
        """A connection whose next commit writes everything, and then says that it failed."""

        def __init__(self, db: sqlite3.Connection) -> None:
            self.db = db
            self.fails = 1

        def execute(self, sql: str, *values: object) -> sqlite3.Cursor:
            if sql == "COMMIT" and self.fails:
                self.fails -= 1
                self.db.execute("ROLLBACK")
                raise sqlite3.OperationalError("disk I/O error")
            return self.db.execute(sql, *values)  # type: ignore[arg-type]

        def __getattr__(self, name: str) -> object:
            return getattr(self.db, name)

    async def write() -> None:
        store = SqliteStore.open(tmp_path / "journal.db")
        await store.commit(born("a", more="x" * 50_000))
        log = tmp_path / "journal.db-wal"
        long = log.stat().st_size
        assert store._group is not None and store._writer is not None
        store._group._transaction = SqliteTransaction(store.path, Failing(store._writer))  # type: ignore[arg-type]
        with pytest.raises(StoreError, match="shows at the next start"):
            await store.commit(put("a", n="refused"))
        await store.commit(put("a", n="kept"))
        assert log.stat().st_size < long, "it began anew"
        assert dict(await store.load("a"))[b"n"] == b"kept"
        await store.close()

    asyncio.run(write())
