"""db: one SQLite file per actor, migrations, transactions, and nothing left behind (spec actors 2)."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from rivetpy import UserError, actor
from rivetpy.host import Host
from rivetpy.store.memory import MemoryStore
from rivetpy.workflow import workflow
from tests.support.hosting import make, refused, with_host


async def migrate(c: Any) -> None:
    version = (await c.db.execute("PRAGMA user_version"))[0]["user_version"]
    if version < 1:
        await c.db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
        await c.db.execute("PRAGMA user_version = 1")


async def add(c: Any, text: Any) -> Any:
    return await c.db.execute("INSERT INTO notes (text) VALUES (?) RETURNING id", text)


async def notes(c: Any) -> list[str]:
    return [row["text"] for row in await c.db.execute("SELECT text FROM notes ORDER BY id")]


def keeper(**more: Any) -> Any:
    actions = {"add": add, "notes": notes} | more.pop("actions", {})
    return actor(db=True, on_migrate=migrate, actions=actions, **more)


def test_rows_come_as_dicts_and_outlive_sleep_and_engine(tmp_path: Path) -> None:
    async def named(c: Any) -> Any:
        return await c.db.execute(
            "SELECT :a AS a, :b AS b, x'00ff' AS raw, NULL AS none", {"a": 1.5, "b": "é"}
        )

    store = MemoryStore()

    async def write(host: Host) -> None:
        actor_id = await make(host)
        assert await host.call(actor_id, "add", ["one"]) == [{"id": 1}]
        await host.sleep(actor_id)
        assert await host.call(actor_id, "add", ["two"]) == [{"id": 2}]
        assert await host.call(actor_id, "named", []) == [
            {"a": 1.5, "b": "é", "raw": b"\x00\xff", "none": None}
        ]

    definition = keeper(actions={"named": named})
    with_host(definition, write, store, clean=False, files=tmp_path)
    assert with_host(definition, look, store, files=tmp_path) == ["one", "two"]


async def look(host: Host) -> Any:
    return await host.call(await make(host), "notes", [])


def test_each_actor_has_its_own_file_whatever_its_key(tmp_path: Path) -> None:
    async def script(host: Host) -> None:
        ids = [await make(host, key) for key in ("../../etc", "a/b", "é\x00")]
        for number, actor_id in enumerate(ids):
            await host.call(actor_id, "add", [str(number)])
        assert [await host.call(each, "notes", []) for each in ids] == [["0"], ["1"], ["2"]]
        assert {path.stem for path in tmp_path.glob("*.db")} == set(ids)

    with_host(keeper(), script, files=tmp_path)


def test_a_transaction_is_all_or_nothing_and_others_wait() -> None:
    async def move(c: Any, fail: bool) -> None:
        async with c.db.transaction():
            await c.db.execute("INSERT INTO notes (text) VALUES ('a')")
            await asyncio.sleep(5)
            async with asyncio.TaskGroup() as group:
                group.create_task(c.db.execute("INSERT INTO notes (text) VALUES ('b')"))
            if fail:
                raise UserError("no", code="no")

    async def script(host: Host) -> None:
        actor_id = await make(host)
        assert await refused(host.call(actor_id, "move", [True])) == "user.no"
        assert await host.call(actor_id, "notes", []) == []
        moving = asyncio.ensure_future(host.call(actor_id, "move", [False]))
        await asyncio.sleep(1)
        await host.call(actor_id, "add", ["other"])
        await moving
        assert await host.call(actor_id, "notes", []) == ["a", "b", "other"]

    with_host(keeper(actions={"move": move}), script)


def test_one_inside_another_is_undone_alone() -> None:
    async def nested(c: Any) -> None:
        async with c.db.transaction():
            await add(c, "kept")
            try:
                async with c.db.transaction():
                    await add(c, "undone")
                    raise ValueError
            except ValueError:
                pass
            async with c.db.transaction():
                await add(c, "kept too")

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.call(actor_id, "nested", [])
        assert await host.call(actor_id, "notes", []) == ["kept", "kept too"]

    with_host(keeper(actions={"nested": nested}), script)


def test_what_outlives_a_transaction_is_no_part_of_it() -> None:
    async def later(c: Any) -> None:
        await asyncio.sleep(5)
        await add(c, "later")

    async def begin(c: Any) -> None:
        async with c.db.transaction():
            c.wait_until(later(c))

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.call(actor_id, "begin", [])
        await asyncio.sleep(10)
        assert await host.call(actor_id, "notes", []) == ["later"]

    with_host(keeper(actions={"begin": begin}), script)


def test_a_caller_that_is_cut_off_leaves_the_database_usable() -> None:
    async def hang(c: Any) -> None:
        async with c.db.transaction():
            await add(c, "undone")
            await asyncio.sleep(1e6)

    async def script(host: Host) -> None:
        actor_id = await make(host)
        assert await refused(host.call(actor_id, "hang", [])) == "actor.action_timed_out"
        await host.call(actor_id, "add", ["after"])
        assert await host.call(actor_id, "notes", []) == ["after"]

    with_host(keeper(actions={"hang": hang}), script)


def test_a_migration_that_fails_is_undone_as_a_whole(tmp_path: Path) -> None:
    broken = [True]

    async def halfway(c: Any) -> None:
        await migrate(c)
        await c.db.execute("INSERT INTO notes (text) VALUES ('migrated')")
        if broken[0]:
            raise UserError("broken", code="broken")

    async def script(host: Host) -> None:
        assert await refused(host.get_or_create("default", "a", ("k",))) == "user.broken"
        assert list(tmp_path.iterdir()) == []
        broken[0] = False
        actor_id = await make(host)
        broken[0] = True
        await host.sleep(actor_id)
        assert await refused(host.call(actor_id, "notes", [])) == "user.broken"
        broken[0] = False
        assert await host.call(actor_id, "notes", []) == ["migrated", "migrated"]

    definition = actor(db=True, on_migrate=halfway, actions={"notes": notes})
    with_host(definition, script, files=tmp_path)


def test_sqlites_errors_are_the_users_own() -> None:
    async def twice(c: Any) -> str:
        try:
            await c.db.execute("INSERT INTO notes (text) VALUES (NULL)")
        except sqlite3.IntegrityError as error:
            return str(error)
        return "no error"

    async def script(host: Host) -> None:
        assert "NOT NULL" in await host.call(await make(host), "twice", [])

    with_host(keeper(actions={"twice": twice}), script)


def test_without_one_the_error_says_how_to_get_it() -> None:
    async def transact(c: Any) -> None:
        async with c.db.transaction():
            pass

    async def script(host: Host) -> None:
        actor_id = await make(host)
        assert await refused(host.call(actor_id, "notes", [])) == "db.not_enabled"
        assert await refused(host.call(actor_id, "transact", [])) == "db.not_enabled"

    with_host(actor(actions={"notes": notes, "transact": transact}), script)


def test_destroying_deletes_the_file(tmp_path: Path) -> None:
    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.call(actor_id, "add", ["x"])
        assert list(tmp_path.iterdir())
        await host.destroy(actor_id)
        assert not list(tmp_path.iterdir())

    with_host(keeper(), script, files=tmp_path)


def test_a_start_sweeps_what_destroyed_actors_left(tmp_path: Path) -> None:
    store = MemoryStore()

    async def write(host: Host) -> str:
        actor_id = await make(host)
        await host.call(actor_id, "add", ["kept"])
        return actor_id

    kept = with_host(keeper(), write, store, files=tmp_path)
    (tmp_path / "gone.db").touch()
    (tmp_path / "gone.db-wal").touch()
    assert with_host(keeper(), look, store, files=tmp_path) == ["kept"]
    assert {path.name for path in tmp_path.iterdir()} == {f"{kept}.db"}


def test_a_step_may_use_it_and_so_does_its_next_attempt() -> None:
    async def note(step: Any) -> None:
        await step.db.execute("INSERT INTO notes (text) VALUES (?)", f"attempt {step.attempt}")
        if step.attempt == 1:
            raise ValueError("again")

    async def flow(ctx: Any) -> None:
        await ctx.step("note", note)

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await asyncio.sleep(10)
        assert await host.call(actor_id, "notes", []) == ["attempt 1", "attempt 2"]

    with_host(keeper(run=workflow(flow)), script)


@pytest.mark.parametrize("files", [True, False])
def test_leaving_closes_the_file(tmp_path: Path, files: bool) -> None:
    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.call(actor_id, "add", ["x"])
        database = host._awake[actor_id].parts.db
        await host.sleep(actor_id)
        assert await refused(database.execute("SELECT 1")) == "actor.restarting"
        if files:
            assert [path.suffix for path in tmp_path.iterdir()] == [".db"]  # no write-ahead log is left

    with_host(keeper(), script, files=tmp_path if files else None)
