"""Who may look into an actor: its token, where that is read, and what is answered to others (wire 9.1)."""

from __future__ import annotations

import base64
import re
from typing import Any

import httpx
import pytest

from rivetpy.engine.app import create_app
from rivetpy.host import Host
from rivetpy.store import Batch
from rivetpy.store.memory import MemoryStore
from rivetpy.workflow import layout
from tests.support.actors import registry
from tests.support.asgi import GOT, Client, error_of, serving
from tests.support.jump import JumpClock, run

REFUSED = {
    "group": "inspector",
    "code": "unauthorized",
    "message": "Inspector request requires a valid bearer token",
    "metadata": None,
}


async def made(client: Client) -> str:
    await client.act("nothing")
    row = await client.host.find("default", "counter", ("main",))
    assert row is not None
    return row.id


async def kept(client: Client, actor_id: str, key: str = "Aw==") -> httpx.Response:
    return await client.get(f"/actors/{actor_id}/kv/keys/{key}?namespace=default")


async def token_of(client: Client, actor_id: str) -> str:
    return base64.b64decode((await kept(client, actor_id)).json()["value"]).decode()


async def look(client: Client, path: str, token: str | None) -> httpx.Response:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return await client.get(path, headers=headers)


def test_each_actor_has_a_token_that_lasts() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            actor_id = await made(client)
            token = await token_of(client, actor_id)
            assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token)
            await client.host.sleep(actor_id)
            assert await token_of(client, actor_id) == token
            assert not client.host.is_awake(actor_id)
            await client.act("nothing", key="other")
            other = await client.host.find("default", "counter", ("other",))
            assert other is not None
            assert await token_of(client, other.id) != token

    run(main())


def test_the_gateway_asks_for_it_by_id_and_by_key() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            actor_id = await made(client)
            token = await token_of(client, actor_id)
            for path in (
                f"/gateway/{actor_id}/inspector/state",
                f"/gateway/counter/inspector/state?{GOT}&rvt-key=main",
            ):
                assert (await look(client, path, token)).json()["state"] == {"value": 0}
                for wrong in (None, "", "token", token[:-1], token + "x"):
                    answer = await look(client, path, wrong)
                    assert (answer.status_code, answer.json()) == (401, REFUSED)
                    assert answer.headers["x-rivet-error"] == "inspector.unauthorized"
            lower = await client.get(path, headers={"authorization": f"bearer   {token}"})
            assert lower.status_code == 200
            nowhere = await look(client, f"/gateway/{actor_id}/inspector/nope", token)
            assert (nowhere.status_code, nowhere.json()) == (
                404,
                {
                    "group": "actor",
                    "code": "not_found",
                    "message": "Inspector route was not found",
                    "metadata": None,
                },
            )

    run(main())


def test_with_a_token_of_the_engine_both_are_asked_for() -> None:
    async def main() -> None:
        async with serving(registry(), token="door") as client:
            made = await client.http.put(
                "/actors?namespace=default",
                json={"name": "counter", "key": "main", "runner_name_selector": "default"},
                headers={"authorization": "Bearer door"},
            )
            actor_id = made.json()["actor"]["actor_id"]
            own = {"authorization": f"Bearer {await client.host.inspector_token(actor_id)}"}
            path = f"/gateway/{actor_id}@door/inspector/state"
            assert (await client.get(path, headers=own)).status_code == 200
            assert (await client.get(path)).status_code == 401
            shut = await client.get(f"/gateway/{actor_id}/inspector/state", headers=own)
            assert error_of(shut) == (403, "auth.forbidden")
            managed = f"/actors/{actor_id}/inspector/state?namespace=default"
            assert (await client.get(managed, headers={"authorization": "Bearer door"})).status_code == 200
            assert error_of(await client.get(managed, headers=own)) == (403, "auth.forbidden")

    run(main())


def test_other_keys_and_other_actors_hold_nothing() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            actor_id = await made(client)
            for key in ("AA==", "Aw", "Aw=", "_w==", "!", "BA=="):
                answer = await kept(client, actor_id, key)
                if key.startswith("Aw"):
                    assert answer.status_code == 200
                else:
                    assert error_of(answer) == (400, "actor.kv_key_not_found")
            assert error_of(await kept(client, "nobody")) == (400, "actor.not_found")
            await client.host.destroy(actor_id)
            assert error_of(await kept(client, actor_id)) == (400, "actor.not_found")

    run(main())


def test_tests_of_official_clients_set_one_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_RIVET_TEST_INSPECTOR_TOKEN", "token")

    async def main() -> None:
        async with serving(registry()) as client:
            actor_id = await made(client)
            assert (await look(client, f"/gateway/{actor_id}/inspector/state", "token")).status_code == 200
            own = await client.host.inspector_token(actor_id)
            assert (await look(client, f"/gateway/{actor_id}/inspector/state", own)).status_code == 401

    run(main())


def test_an_actor_of_an_older_release_gets_one() -> None:
    async def main() -> None:
        store, clock = MemoryStore(), JumpClock()

        async def engine(first: bool) -> Any:
            host = Host(registry(), store, clock)
            app = create_app(host)
            async with app.router.lifespan_context(app):
                if first:
                    return await host.create("default", "counter", ("main",))
                found = await host.find("default", "counter", ("main",))
                assert found is not None
                return await host.inspector_token(found.id)

        row = await engine(first=True)
        await store.commit(Batch(row.id, deletes=[layout.TOKEN]))
        token = await engine(first=False)
        assert len(token) == 43
        assert await engine(first=False) == token

    run(main())


def test_an_actor_is_not_reloaded() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            actor_id = await made(client)
            answer = await client.http.put(f"/gateway/{actor_id}/dynamic/reload")
            assert error_of(answer) == (404, "actor.reload_failed")

    run(main())
