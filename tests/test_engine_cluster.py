"""Namespaces, which keep their actors apart, and what a cluster of one machine looks like to tools (wire 4)."""

from __future__ import annotations

from typing import Any

import pytest

from rivetpy.engine.app import create_app
from rivetpy.host import Host
from rivetpy.store.memory import MemoryStore
from tests.support.actors import registry
from tests.support.asgi import Client, error_of, serving
from tests.support.jump import EPOCH, JumpClock, run

WHO = {"name": "counter", "key": "main", "runner_name_selector": "default", "crash_policy": "sleep"}


async def create(client: Client, name: Any, **more: Any) -> Any:
    return await client.post("/namespaces", {"name": name, **more})


def test_each_namespace_has_actors_of_its_own() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            made = await create(client, "test-1", display_name="Tést 1")
            assert made.json() == {
                "namespace": {
                    "namespace_id": "test-1",
                    "name": "test-1",
                    "display_name": "Tést 1",
                    "create_ts": EPOCH,
                }
            }
            ids = {}
            for namespace in ("default", "test-1"):
                put = await client.http.put(f"/actors?namespace={namespace}", json=WHO)
                assert put.json()["created"] is True
                ids[namespace] = put.json()["actor"]["actor_id"]
                assert put.json()["actor"]["namespace_id"] == namespace
            assert ids["default"] != ids["test-1"]
            query = "rvt-method=get&rvt-key=main"
            for namespace, amount in (("default", 1), ("test-1", 5)):
                path = f"/gateway/counter/action/add?rvt-namespace={namespace}&{query}"
                assert (await client.post(path, {"args": [amount]})).json() == {"output": amount}
            for namespace, other in (("default", "test-1"), ("test-1", "default")):
                listed = (await client.get(f"/actors?namespace={namespace}&name=counter")).json()["actors"]
                assert [each["actor_id"] for each in listed] == [ids[namespace]]
                foreign = await client.get(f"/actors?namespace={namespace}&actor_ids={ids[other]}")
                assert foreign.json()["actors"] == []
                gone = await client.http.delete(f"/actors/{ids[other]}?namespace={namespace}")
                assert error_of(gone) == (400, "actor.not_found")

    run(main())


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("default", "namespace.name_not_unique"),
        ("", "namespace.invalid_name"),
        ("-a", "namespace.invalid_name"),
        ("Upper", "namespace.invalid_name"),
        ("a" * 64, "namespace.invalid_name"),
        ("a\n", "namespace.invalid_name"),
        (None, "api.bad_request"),
        (7, "api.bad_request"),
    ],
)
def test_names_there_can_not_be(name: Any, error: str) -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            assert error_of(await create(client, name)) == (400, error)
            assert len((await client.get("/namespaces")).json()["namespaces"]) == 1
            too_long = await create(client, "ok", display_name="x" * 300)
            assert error_of(too_long) == (400, "namespace.invalid_name")

    run(main())


def test_a_namespace_lasts_and_is_no_actor() -> None:
    async def main() -> None:
        store, clock = MemoryStore(), JumpClock()
        for again in (False, True):
            host = Host(registry(), store, clock)
            app = create_app(host)
            async with app.router.lifespan_context(app):
                if not again:
                    await host.namespaces.create("kept", "Kept")
                assert [each.display_name for each in host.namespaces.all()] == ["default", "Kept"]
                row = await store.find("", "namespace", ("kept",))
                assert row is not None
                assert await host.get(row.id) is None

    run(main())


def test_who_has_no_namespace() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            for path in ("envoys", "runners", "runner-configs", "actors/names"):
                assert error_of(await client.get(f"/{path}")) == (400, "api.bad_request")
                assert error_of(await client.get(f"/{path}?namespace=nope")) == (400, "namespace.not_found")
            hidden = await client.get("/actors?namespace=&name=namespace")
            assert error_of(hidden) == (400, "api.bad_request")

    run(main())


def test_a_cluster_of_one() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            centers = (await client.get("/datacenters")).json()
            assert centers == {
                "datacenters": [{"label": 1, "name": "default", "url": "http://localhost:6420/"}],
                "pagination": {"cursor": None},
            }
            await client.act("nothing")
            (envoy,) = (await client.get("/envoys?namespace=default")).json()["envoys"]
            assert (envoy["pool_name"], envoy["datacenter"], envoy["slots"], envoy["stop_ts"]) == (
                "default",
                "default",
                1,
                None,
            )
            assert (await client.get("/envoys?namespace=default&name=other")).json()["envoys"] == []
            assert (await client.get("/runners?namespace=default")).json()["runners"] == []
            assert (await client.get("/runners/names?namespace=default")).json()["names"] == ["default"]
            configs = (await client.get("/runner-configs?namespace=default")).json()["runner_configs"]
            assert configs == {"default": {"datacenters": {"default": {"normal": {}}}}}

    run(main())


def test_nothing_to_configure() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            asked = {"datacenters": {"default": {"normal": {}}}}
            same = await client.http.put("/runner-configs/default?namespace=default", json=asked)
            assert same.json() == {"endpoint_config_changed": False}
            for pool, body in (
                ("other", asked),
                ("default", {"datacenters": {"default": {"serverless": {"url": "http://x"}}}}),
                ("default", {"datacenters": {"default": 5}}),
                ("default", {}),
            ):
                answer = await client.http.put(f"/runner-configs/{pool}?namespace=default", json=body)
                assert error_of(answer) == (400, "runner_config.invalid")
            gone = await client.http.delete("/runner-configs/default?namespace=default")
            assert error_of(gone) == (404, "api.not_found")

    run(main())


def test_an_actor_is_put_elsewhere_which_is_here() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            made = (await client.http.put("/actors?namespace=default", json=WHO)).json()["actor"]["actor_id"]
            await client.host.sleep(made)
            assert (await client.post(f"/actors/{made}/reschedule?namespace=default", {})).json() == {}
            assert client.host.is_awake(made)

    run(main())
