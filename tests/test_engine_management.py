"""The management interface over ASGI: actors made, found, listed page by page, destroyed; the refusals."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import rivetpy
from rivetpy.wire.inputs import write_input
from tests.support.actors import registry
from tests.support.asgi import Client, error_of, serving
from tests.support.jump import EPOCH, run

IN = "namespace=default"


def body(name: str = "counter", key: str | None = "main", **more: Any) -> dict[str, Any]:
    return {"name": name, "key": key, "runner_name_selector": "default", "crash_policy": "sleep", **more}


async def put(client: Client, **wanted: Any) -> Any:
    response = await client.http.put(f"/actors?{IN}", json=body(**wanted))
    assert response.status_code == 200, response.text
    return response.json()


async def listed(client: Client, query: str) -> Any:
    response = await client.get(f"/actors?{IN}&{query}")
    assert response.status_code == 200, response.text
    return response.json()


def test_what_the_engine_is() -> None:
    async def main() -> None:
        async with serving(registry(), details={"dataDir": "/data", "durability": "disk"}) as client:
            metadata = (await client.get("/metadata?namespace=default")).json()
            assert metadata["runtime"] == "engine"
            assert metadata["version"] == rivetpy.__version__
            assert metadata["dataDir"] == "/data"
            assert metadata["actorNames"]["plain"] == {
                "metadata": {"queues": [], "actions": ["ping"], "events": [], "workflow": False}
            }
            assert metadata["actorNames"]["counter"]["metadata"]["queues"] == ["idle", "jobs", "stop"]
            assert "clientEndpoint" not in metadata
            health = (await client.get("/health")).json()
            assert health == {"runtime": "engine", "status": "ok", "version": rivetpy.__version__}
            assert (await client.http.head("/health")).status_code == 200
            names = (await client.get(f"/actors/names?{IN}")).json()
            assert names == {"names": metadata["actorNames"], "pagination": {"cursor": None}}
            namespaces = (await client.get("/namespaces")).json()["namespaces"]
            assert [namespace["name"] for namespace in namespaces] == ["default"]

    run(main())


def test_put_makes_an_actor_once() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            first = await put(client, key="/")
            actor = first["actor"]
            assert first == {
                "actor": {
                    "actor_id": actor["actor_id"],
                    "name": "counter",
                    "key": "/",
                    "namespace_id": "default",
                    "datacenter": "default",
                    "runner_name_selector": "default",
                    "crash_policy": "sleep",
                    "create_ts": EPOCH,
                    "start_ts": EPOCH,
                    "pending_allocation_ts": None,
                    "connectable_ts": EPOCH,
                    "sleep_ts": None,
                    "reschedule_ts": None,
                    "destroy_ts": None,
                },
                "created": True,
            }
            assert await put(client, key="/") == {"actor": actor, "created": False}

    run(main())


def test_keys_keep_their_parts_apart() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            key = r"in\/put/é b,c/\0"
            made = await put(client, key=key)
            assert made["actor"]["key"] == key
            assert await client.host.find("default", "counter", ("in/put", "é b,c", "")) is not None
            found = await client.http.get(
                "/actors", params={"namespace": "default", "name": "counter", "key": key}
            )
            assert [actor["actor_id"] for actor in found.json()["actors"]] == [made["actor"]["actor_id"]]
            assert await listed(client, "name=counter&key=other") == {
                "actors": [],
                "pagination": {"cursor": None},
            }

    run(main())


def test_post_refuses_a_second_one() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            path = f"/actors?{IN}"
            first = (
                await client.post(path, body(key="k", input=write_input({"start": 7}, url=False)))
            ).json()
            assert list(first) == ["actor"]
            again = await client.post(path, body(key="k"))
            assert error_of(again) == (400, "actor.duplicate_key")
            actor_id = first["actor"]["actor_id"]
            assert again.json() == {
                "group": "actor",
                "code": "duplicate_key",
                "message": f"Actor key 'k' already in use for actor '{actor_id}'",
                "metadata": {"existing_actor_id": actor_id, "key": "k"},
            }
            state = await client.get(f"/actors/{actor_id}/inspector/state?{IN}")
            assert state.json()["state"] == {"value": 7}

    run(main())


def test_lists_come_in_pages_newest_first() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            ids = [(await put(client, key=str(number)))["actor"]["actor_id"] for number in range(5)]
            await put(client, name="plain")
            seen: list[str] = []
            cursor = ""
            while True:
                page = await listed(client, f"name=counter&limit=2&cursor={cursor}")
                seen += [actor["actor_id"] for actor in page["actors"]]
                assert len(page["actors"]) <= 2
                cursor = page["pagination"]["cursor"]
                if cursor is None:
                    break
            assert seen == ids[::-1]
            assert len((await listed(client, ""))["actors"]) == 6
            assert len((await listed(client, "limit=99999"))["actors"]) == 6

    run(main())


def test_by_ids_and_destroyed() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            a, b = [(await put(client, key=key))["actor"]["actor_id"] for key in "ab"]
            both = await listed(client, f"actor_ids={b},nope,{a}")
            assert [actor["actor_id"] for actor in both["actors"]] == [b, a]
            assert len((await listed(client, f"actor_ids={a}&name=counter"))["actors"]) == 1
            assert (await listed(client, f"actor_id={a}&name=plain"))["actors"] == []
            gone = await client.http.delete(f"/actors/{a}?{IN}")
            assert (gone.status_code, gone.json()) == (200, {})
            assert (await listed(client, f"actor_ids={a}"))["actors"] == []
            kept = await listed(client, f"actor_ids={a}&include_destroyed=true")
            assert kept["actors"][0]["destroy_ts"] is not None
            assert len((await listed(client, "include_destroyed=true"))["actors"]) == 2
            assert error_of(await client.http.delete(f"/actors/{a}?{IN}")) == (400, "actor.not_found")
            assert (await put(client, key="a"))["created"] is True

    run(main())


def test_sleep_and_summary() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            actor_id = (await put(client))["actor"]["actor_id"]
            await client.send("idle", body=1)
            await asyncio.sleep(1)  # until the workflow waits
            shown = (await listed(client, "summary=true"))["actors"][0]
            assert shown["summary"] == {
                "status": "awake",
                "workflowStatus": "sleeping",
                "waitingFor": ["message on jobs, stop"],
                "queueSize": 1,
                "historySize": 2,
                "nextWakeAt": None,
            }
            assert (await client.post(f"/actors/{actor_id}/sleep?{IN}", {})).json() == {}
            asleep = (await listed(client, "summary=true"))["actors"][0]
            assert asleep["summary"] == {**shown["summary"], "status": "sleeping"}
            assert asleep["connectable_ts"] is None
            assert "summary" not in (await listed(client, ""))["actors"][0]

    run(main())


@pytest.mark.parametrize(
    ("method", "path", "sent", "error"),
    [
        ("GET", "/actors", None, (400, "api.bad_request")),
        ("GET", "/actors?namespace=prod", None, (400, "namespace.not_found")),
        ("GET", f"/actors?{IN}&key=x", None, (400, "validation.invalid_input")),
        ("GET", f"/actors?{IN}&limit=0", None, (400, "api.bad_request")),
        ("GET", f"/actors?{IN}&limit=x", None, (400, "api.bad_request")),
        ("GET", f"/actors?{IN}&cursor=nonsense", None, (400, "api.bad_request")),
        ("PUT", "/actors", body(), (400, "api.bad_request")),
        ("PUT", f"/actors?{IN}", {"key": "x"}, (400, "api.bad_request")),
        ("PUT", f"/actors?{IN}", body(key=5), (400, "api.bad_request")),
        ("PUT", f"/actors?{IN}", [], (400, "api.bad_request")),
        ("PUT", f"/actors?{IN}", body(crash_policy="x"), (400, "api.bad_request")),
        ("PUT", f"/actors?{IN}", body(datacenter="moon"), (400, "datacenter.not_found")),
        ("PUT", f"/actors?{IN}", body(input="*"), (400, "guard.query_invalid_base64_input")),
        ("PUT", f"/actors?{IN}", body(name="conter"), (400, "actor.not_configured")),
        ("PUT", f"/actors?{IN}", body(key="x" * 2_000_000), (400, "message.incoming_too_long")),
        ("POST", f"/actors/nope/sleep?{IN}", {}, (400, "actor.not_found")),
        ("GET", "/nope", None, (404, "api.not_found")),
        ("POST", "/metadata", {}, (404, "api.not_found")),
        ("GET", f"/actors/?{IN}", None, (404, "api.not_found")),
    ],
)
def test_refusals(method: str, path: str, sent: Any, error: tuple[int, str]) -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            response = await client.http.request(method, path, json=sent)
            assert error_of(response) == error
            assert (await listed(client, ""))["actors"] == []

    run(main())


def test_json_that_is_none_says_where() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            response = await client.http.put(f"/actors?{IN}", content=b'{"name":\n}')
            assert error_of(response) == (400, "api.bad_request")
            assert "line 2 column 1" in response.json()["message"]

    run(main())
