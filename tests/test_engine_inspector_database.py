"""An actor's own database as the inspector shows it, and what a statement from outside may not do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rivetpy import Registry, actor, setup
from rivetpy.host import bounded
from tests.support.asgi import Client, error_of, serving
from tests.support.jump import run

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS owners (id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT 'x')",
    'CREATE TABLE IF NOT EXISTS "odd ""name" (owner INTEGER REFERENCES owners(id), data BLOB)',
    "CREATE VIEW IF NOT EXISTS names AS SELECT name FROM owners",
)


async def migrate(c: Any) -> None:
    for each in SCHEMA:
        await c.db.execute(each)


async def fill(c: Any) -> None:
    for name in ("ann", "bob", "cy"):
        await c.db.execute("INSERT INTO owners (name) VALUES (?)", name)
    await c.db.execute('INSERT INTO "odd ""name" VALUES (1, ?)', b"\x00\xff")


def databases() -> Registry:
    kept = actor(db=True, on_migrate=migrate, actions={"fill": fill})
    return setup(use={"counter": kept, "plain": actor(actions={"ping": lambda c: "pong"})})


async def execute(client: Client, sql: str, **given: Any) -> Any:
    return await client.inspect("POST", "database/execute", {"sql": sql, **given})


def test_tables_and_their_rows() -> None:
    async def main() -> None:
        async with serving(databases()) as client:
            await client.act("fill")
            tables = (await client.inspect("GET", "database/schema")).json()["schema"]["tables"]
            assert [(each["table"], each["records"]) for each in tables] == [
                ({"schema": "main", "name": "names", "type": "view"}, 3),
                ({"schema": "main", "name": 'odd "name', "type": "table"}, 1),
                ({"schema": "main", "name": "owners", "type": "table"}, 3),
            ]
            assert tables[2]["columns"] == [
                {"cid": 0, "name": "id", "type": "INTEGER", "notnull": 0, "dflt_value": None, "pk": 1},
                {"cid": 1, "name": "name", "type": "TEXT", "notnull": 1, "dflt_value": "'x'", "pk": 0},
            ]
            assert tables[1]["foreignKeys"][0]["table"] == "owners"
            page = await client.inspect("GET", "database/rows?table=owners&limit=2&offset=1")
            assert page.json() == {"rows": [{"id": 2, "name": "bob"}, {"id": 3, "name": "cy"}]}
            odd = await client.inspect("GET", "database/rows?table=odd%20%22name")
            assert odd.json() == {"rows": [{"owner": 1, "data": [0, 255]}]}
            for wrong, error in (("table=nope", "db.refused"), ("", "actor.invalid_request")):
                assert error_of(await client.inspect("GET", f"database/rows?{wrong}")) == (400, error)
            assert error_of(await client.inspect("PUT", "database/rows")) == (404, "actor.not_found")

    run(main())


def test_statements() -> None:
    async def main() -> None:
        async with serving(databases()) as client:
            await client.act("fill")
            found = await execute(client, "SELECT id FROM owners WHERE name = ?", args=["bob"])
            assert found.json() == {"rows": [{"id": 2}]}
            named = await execute(client, "SELECT :a AS a", properties={"a": 7})
            assert named.json() == {"rows": [{"a": 7}]}
            gone = await execute(client, "DELETE FROM owners WHERE id = 3 RETURNING name")
            assert gone.json() == {"rows": [{"name": "cy"}]}
            for given in (
                {},
                {"sql": " "},
                {"sql": "SELECT 1", "args": 1},
                {"sql": "SELECT 1", "properties": 1},
            ):
                wrong = await client.inspect("POST", "database/execute", given)
                assert error_of(wrong) == (400, "actor.invalid_request")
            both = await execute(client, "SELECT 1", args=[1], properties={})
            assert error_of(both) == (400, "actor.invalid_request")

    run(main())


def test_what_a_statement_may_not_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "MAX_ROWS", 50)
    monkeypatch.setattr(bounded, "MAX_BYTES", 60_000)

    async def main() -> None:
        async with serving(databases()) as client:
            await client.act("fill")
            other = tmp_path / "other.db"
            for sql in (
                f"ATTACH '{other}' AS other",
                f"VACUUM INTO '{other}'",
                "BEGIN",
                "SAVEPOINT s",
                "PRAGMA journal_mode = DELETE",
                "SELECT load_extension('x')",
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
                "SELECT zeroblob(900000000)",
                f"SELECT {', '.join('1' * 2000)}",
                "SELECT zeroblob(20000)",
                "SELECT 1; SELECT 2",
                "nonsense",
            ):
                assert error_of(await execute(client, sql)) == (400, "db.refused"), sql
            assert not other.exists()
            await client.act("fill")
            assert (await execute(client, "SELECT COUNT(*) AS n FROM owners")).json() == {"rows": [{"n": 6}]}

    run(main())


def test_a_statement_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "SECONDS", 0.05)

    async def main() -> None:
        async with serving(databases()) as client:
            await client.act("fill")
            endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT SUM(i) FROM n"
            answer = await execute(client, endless)
            assert error_of(answer) == (400, "db.refused")
            assert "0.05 seconds" in answer.json()["message"]

    run(main())


def test_an_actor_without_a_database() -> None:
    async def main() -> None:
        async with serving(databases()) as client:
            await client.act("ping", actor="plain")
            answer = await client.inspect("GET", "database/schema", actor="plain")
            assert error_of(answer) == (400, "db.not_enabled")
            assert (await client.inspect("GET", "summary", actor="plain")).json()[
                "isDatabaseEnabled"
            ] is False
            await client.act("fill")
            assert (await client.inspect("GET", "summary")).json()["isDatabaseEnabled"] is True

    run(main())
