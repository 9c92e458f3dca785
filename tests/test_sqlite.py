"""What only the SQLite store has: a file that is checked, refused untouched, shared, damaged, or full."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import sqlite3
import stat
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rivetpy.errors import StoreError
from rivetpy.host.files import Files
from rivetpy.store import Batch, Listing
from rivetpy.store.database import APPLICATION, FORMAT
from rivetpy.store.sqlite import Durability, SqliteStore
from tests.support.rows import START, born, put, row


def using(path: Path, use: Callable[[SqliteStore], Awaitable[None]], **options: bool) -> None:
    async def run() -> None:
        store = SqliteStore.open(path, **options)
        try:
            await use(store)
        finally:
            await store.close()

    asyncio.run(run())


async def fill(store: SqliteStore) -> None:
    await store.commit(born("a", k="v"))


async def has_a(store: SqliteStore) -> None:
    assert await store.load("a") == [(b"k", b"v")]


def execute(path: Path, sql: str) -> None:
    db = sqlite3.connect(path)
    db.executescript(sql)
    db.close()


def digests(directory: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.iterdir()}


def refusal(path: Path, **options: bool) -> StoreError:
    with pytest.raises(StoreError) as refused:
        SqliteStore.open(path, **options)
    error = refused.value
    assert str(path) in error.message
    assert "\n" not in error.message
    assert "--data-dir" in error.message and "RIVET_DATA_DIR" in error.message
    return error


# --- the file


def test_the_file_says_what_it_is_and_is_the_users_own(tmp_path: Path) -> None:
    path = tmp_path / "a directory #1 ?&ö%41" / "journal.db"
    path.parent.mkdir()

    async def look(store: SqliteStore) -> None:
        await fill(store)
        for file in path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file

    using(path, look)
    assert sorted(file.name for file in path.parent.iterdir()) == ["journal.db"]
    header = path.read_bytes()[:100]
    assert int.from_bytes(header[60:64]) == FORMAT == 1
    assert int.from_bytes(header[68:72]) == APPLICATION


@pytest.mark.parametrize(("durability", "synchronous"), [(Durability.DISK, 2), (Durability.PROCESS, 1)])
def test_durability_is_what_was_asked_for(tmp_path: Path, durability: Durability, synchronous: int) -> None:
    async def look() -> None:
        store = SqliteStore.open(tmp_path / "journal.db", durability)
        assert store._writer is not None
        assert store._writer.execute("PRAGMA synchronous").fetchone() == (synchronous,)
        assert store._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        await store.close()

    asyncio.run(look())


def test_a_newer_format_is_refused_and_every_byte_stays(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    using(path, fill)
    execute(path, f"PRAGMA user_version = {FORMAT + 1}")
    before = digests(tmp_path)
    for read_only in (False, True):
        error = refusal(path, read_only=read_only)
        assert error.code == "newer_format"
        assert "format 2" in error.message and "format 1" in error.message
    assert digests(tmp_path)["journal.db"] == before["journal.db"]


def test_a_newer_format_that_is_still_in_the_wal_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    using(path, fill)
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA user_version = {FORMAT + 1}")
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in ("journal.db", "journal.db-wal"):
        shutil.copy(tmp_path / name, crashed / name)
    other.close()
    before = digests(crashed)
    assert refusal(crashed / "journal.db").code == "newer_format"
    after = digests(crashed)
    assert {name: after[name] for name in before} == before


def test_an_empty_file_is_a_fresh_start(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.touch()
    using(path, fill)
    using(path, has_a)


def test_a_start_that_died_before_the_tables_is_a_fresh_start(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    execute(path, "PRAGMA journal_mode = WAL; CREATE TABLE t (x); DROP TABLE t;")
    using(path, fill)
    using(path, has_a)


def test_a_start_that_died_while_it_made_the_file_is_a_fresh_start(tmp_path: Path) -> None:
    """SQLite makes the first page with a rollback journal, and only a connection that writes can roll back."""
    path = tmp_path / "journal.db"
    path.write_bytes(b"half a page" * 100)
    header = struct.pack(">8sIIIII", bytes.fromhex("d9d505f920a163d7"), 0, 1, 0, 512, 4096)
    path.with_name("journal.db-journal").write_bytes(header.ljust(512, b"\0"))
    with pytest.raises(StoreError, match="the journal is empty"):
        SqliteStore.open(path, read_only=True)
    using(path, fill)
    using(path, has_a)


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    execute(path, "CREATE TABLE precious (x)")
    before = digests(tmp_path)
    error = refusal(path)
    assert error.code == "damaged" and "another program" in error.message
    assert digests(tmp_path) == before


@pytest.mark.parametrize(
    "content", [b"this is not a database " * 100, b"SQLite format 3\x00" + b"\xff" * 4096]
)
def test_what_is_no_database_is_refused_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(content)
    for read_only in (False, True):
        assert refusal(path, read_only=read_only).code == "damaged"
    assert path.read_bytes() == content


def test_damage_inside_is_named_when_it_is_met(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    using(path, fill)
    pages = bytearray(path.read_bytes())
    pages[4096:] = b"\xaa" * (len(pages) - 4096)
    path.write_bytes(pages)

    async def read(store: SqliteStore) -> None:
        with pytest.raises(StoreError) as met:
            await store.load("a")
        assert met.value.code == "damaged" and str(path) in met.value.message

    using(path, read, read_only=True)


def test_a_directory_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "journal.db").mkdir()
    assert refusal(tmp_path / "journal.db").code == "not_writable"


def test_a_file_where_the_directory_should_be(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    assert refusal(tmp_path / "data" / "journal.db").code == "not_writable"


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none" / "journal.db").code == "not_writable"
    assert refusal(tmp_path / "none" / "journal.db", read_only=True).code == "missing"
    assert not (tmp_path / "none").exists()


# --- reading beside an engine, and after one was killed


def test_reading_beside_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"

    async def beside(store: SqliteStore) -> None:
        await store.commit(born("a", k="v"))
        reader = SqliteStore.open(path, read_only=True)
        await has_a(reader)
        await store.commit(put("a", more="v"))
        assert len(await reader.load("a")) == 2
        with pytest.raises(StoreError) as refused:
            await reader.commit(put("a", k="x"))
        assert refused.value.code == "read_only"
        await reader.close()
        await store.commit(put("a", k="2"))

    using(path, beside)


def test_closing_beside_a_reader_is_quick_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    using(path, fill)
    reader = sqlite3.connect(path)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM entries").fetchone() == (1,)

    async def more(store: SqliteStore) -> None:
        await store.commit(put("a", more="v"))

    using(path, more)
    assert reader.execute("SELECT count(*) FROM entries").fetchone() == (1,)
    reader.close()

    async def both(store: SqliteStore) -> None:
        assert len(await store.load("a")) == 2

    using(path, both)


def test_reading_after_an_unclean_end(tmp_path: Path) -> None:
    path, crashed = tmp_path / "journal.db", tmp_path / "crashed"
    crashed.mkdir()

    async def crash(store: SqliteStore) -> None:
        await store.commit(born("a", k="v"))
        for name in ("journal.db", "journal.db-wal"):
            shutil.copy(tmp_path / name, crashed / name)

    using(path, crash)
    assert (crashed / "journal.db-wal").stat().st_size > 0
    using(crashed / "journal.db", has_a, read_only=True)
    using(crashed / "journal.db", has_a)


def test_a_wal_cut_anywhere_keeps_whole_commits_from_the_start(tmp_path: Path) -> None:
    """What a power cut leaves: some first part of the WAL. Every batch is there as a whole, in order."""
    path, cut = tmp_path / "journal.db", tmp_path / "cut"
    cut.mkdir()
    using(path, fill)

    async def write(store: SqliteStore) -> None:
        for number in range(12):
            await store.commit(put("a", left=str(number), right=str(number)))
        shutil.copy(path, cut / "journal.db.full")
        shutil.copy(tmp_path / "journal.db-wal", cut / "wal.full")

    using(path, write)
    wal = (cut / "wal.full").read_bytes()
    seen = []
    for size in range(0, len(wal), 1031):
        shutil.copy(cut / "journal.db.full", cut / "journal.db")
        (cut / "journal.db-wal").write_bytes(wal[:size])

        async def read(store: SqliteStore) -> None:
            kept = dict(await store.load("a"))
            assert kept.pop(b"k") == b"v"
            assert kept.get(b"left") == kept.get(b"right")
            seen.append(int(kept.get(b"left", b"-1")))
            await store.commit(put("a", after="cut"))
            assert (b"after", b"cut") in await store.load("a")

        using(cut / "journal.db", read)
    assert seen == sorted(seen)
    assert seen[0] == -1 and seen[-1] >= 10


# --- refusals of a group


def test_a_full_disk_refuses_the_whole_group_and_keeps_nothing(tmp_path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        await fill(store)
        assert store._writer is not None
        (pages,) = store._writer.execute("PRAGMA page_count").fetchone()
        store._writer.execute(f"PRAGMA max_page_count = {pages}")
        batches = [born("b", k="v"), put("a", small="v"), Batch("a", puts={b"large": b"x" * 1_000_000})]
        results = await asyncio.gather(*map(store.commit, batches), return_exceptions=True)
        for result in results:
            assert isinstance(result, StoreError) and result.code == "disk_full"
            assert "--data-dir" in result.message
        assert len({id(result) for result in results}) == 3, "each caller has an error of its own"
        await has_a(store)
        assert await store.get("b") is None
        store._writer.execute("PRAGMA max_page_count = 1000000")
        await asyncio.gather(*map(store.commit, batches))
        assert len(await store.load("a")) == 3
        assert await store.load("b") == [(b"k", b"v")]

    using(tmp_path / "journal.db", scenario)


def test_a_batch_that_cannot_be_bound_is_refused_alone(tmp_path: Path) -> None:
    """A mistake in the program must not take down what others committed in the same group."""

    async def scenario(store: SqliteStore) -> None:
        await fill(store)
        await store.commit(born("b", k="v"))
        good = [put("a", **{f"k{number}": "v"}) for number in range(3)]
        bad = [
            Batch("x", row=row("x"), puts={b"half": b"done", b"bad": object()}),  # type: ignore[dict-item]
            Batch("b", row=row("b", alarm=2**70), puts={b"k": b"lost"}),
        ]
        batches = [good[0], bad[0], good[1], bad[1], good[2]]
        results = await asyncio.gather(*map(store.commit, batches), return_exceptions=True)
        codes = [getattr(result, "code", None) for result in results]
        assert codes == [None, "invalid_batch", None, "invalid_batch", None]
        assert [key for key, _ in await store.load("a")] == [b"k", b"k0", b"k1", b"k2"]
        assert await store.load("b") == [(b"k", b"v")]
        assert await store.get("x") is None
        await store.commit(born("x", k="now"))
        assert await store.load("x") == [(b"k", b"now")]

    using(tmp_path / "journal.db", scenario)


def test_a_locked_file_is_busy_and_works_again_later(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"

    async def scenario(store: SqliteStore) -> None:
        await fill(store)
        assert store._writer is not None
        store._writer.execute("PRAGMA busy_timeout = 0")
        other = sqlite3.connect(path)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError) as refused:
            await store.commit(put("a", k="x"))
        assert refused.value.code == "busy"
        other.close()
        await has_a(store)
        await store.commit(put("a", k="x"))

    using(path, scenario)


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        await store.close()
        for asked in (store.commit(put("a")), store.load("a"), store.next_alarm()):
            with pytest.raises(StoreError) as refused:
                await asked
            assert refused.value.code == "closed"

    using(tmp_path / "journal.db", scenario)


# --- finding things without looking through everything


def test_ten_thousand_actors_are_listed_by_index_and_without_their_entries(tmp_path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        batches = [
            Batch(
                f"a{n}",
                row=row(f"a{n}", awake=False, created_at=START + n, alarm=n or None),
                puts={b"s": b""},
            )
            for n in range(10_000)
        ]
        await asyncio.gather(*map(store.commit, batches))
        asked: list[str] = []
        store._reader.set_trace_callback(asked.append)
        ids: list[str] = []
        cursor: str | None = None
        while not ids or cursor:
            page, cursor = await store.list(Listing("default", "counter", limit=1000, cursor=cursor))
            ids += [found.id for found in page]
        assert ids == [f"a{n}" for n in reversed(range(10_000))]
        await store.list(Listing("default", limit=10))
        await store.list(Listing("default", limit=10, include_destroyed=True, cursor=f"{START}.7"))
        assert await store.next_alarm() == 1
        assert await store.due(3, 10) == ["a1", "a2", "a3"]
        assert await store.awake() == []
        await store.find("default", "counter", ("a5",))
        await store.get("a5")
        await store.load("a5")
        store._reader.set_trace_callback(None)
        assert not [sql for sql in asked[:-1] if "entries" in sql]
        for sql in asked:
            plan = [line[3] for line in store._reader.execute(f"EXPLAIN QUERY PLAN {sql}")]
            assert not [step for step in plan if "TEMP B-TREE" in step], (sql, plan)
            for step in plan:
                assert step.startswith(("SEARCH", "SCALAR")) or "actors_awake" in step, (sql, plan)

    using(tmp_path / "journal.db", scenario)


def test_the_wal_stays_bounded(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"

    async def scenario() -> None:
        store = SqliteStore.open(path, Durability.PROCESS)
        await fill(store)
        largest = 0
        for number in range(100):
            await store.commit(Batch("a", puts={b"%d" % (number % 7): os.urandom(400_000)}))
            largest = max(largest, (tmp_path / "journal.db-wal").stat().st_size)
        await store.close()
        assert 2_000_000 < largest < 8_000_000
        assert not (tmp_path / "journal.db-wal").exists()

    asyncio.run(scenario())


def test_a_place_where_nothing_can_be_written_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a backup is, on a disk that takes nothing: no index is made beside it. With a log there has to be one."""
    monkeypatch.setattr("rivetpy.store.database.os.access", lambda path, mode: False)
    path = tmp_path / "journal.db"

    async def look(store: SqliteStore) -> None:
        await has_a(store)
        assert list(tmp_path.iterdir()) == [path]

    async def write_meanwhile(writer: SqliteStore) -> None:
        await writer.commit(born("b", k="v"))
        reader = SqliteStore.open(path, read_only=True)
        assert await reader.load("b") == [(b"k", b"v")]
        await reader.close()

    using(path, fill)
    using(path, look, read_only=True)
    using(path, write_meanwhile)


def test_who_asks_for_an_actors_database_makes_no_directory(tmp_path: Path) -> None:
    assert Files(tmp_path / "actors").read("nobody") is None
    assert not (tmp_path / "actors").exists()
