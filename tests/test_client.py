"""The client against a real engine: handles, errors, keys no URL can carry, and both transports."""

from __future__ import annotations

import asyncio
import datetime as dt
import gc
import subprocess
import sys
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import pytest

from rivetpy import RivetError
from rivetpy.client import create_client, create_sync_client
from rivetpy.client.endpoint import find_endpoint
from rivetpy.client.handles import Client
from rivetpy.client.plain import PlainTransport
from rivetpy.client.requests import ByKey, Requests
from rivetpy.wire.bodies import QueueReply, QueueSend
from tests.support.actors import registry
from tests.support.live import Live, listening, live

T = TypeVar("T")


@pytest.fixture(scope="module")
def engine() -> Iterator[Live]:
    with live(registry(action_timeout=1)) as running:
        yield running


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RIVET_ENGINE", "RIVET_ENDPOINT", "RIVET_TOKEN", "RIVET_NAMESPACE", "RIVET_POOL"):
        monkeypatch.delenv(name, raising=False)


def using(engine: Live, use: Any, **options: Any) -> Any:
    """What ``use(client)`` returns, with a client of the engine."""

    async def main() -> Any:
        async with create_client(engine.url, **options) as client:
            return await use(client)

    return asyncio.run(main())


def failing(work: Coroutine[Any, Any, Any]) -> Any:
    async def main() -> RivetError:
        with pytest.raises(RivetError) as raised:
            await work
        return raised.value

    return main()


def test_actions_as_methods_and_by_name(engine: Live) -> None:
    async def use(client: Client) -> None:
        counter = client.counter.get_or_create(["actions"])
        assert await counter.add(5) == 5
        assert await counter.action("add", 2) == 7
        assert await counter.action("a.b/c") == "nested"
        assert await counter.getState() == {"value": 7}
        assert await client.actor("counter").get("actions").getState() == {"value": 7}
        assert await client.plain.get_or_create().ping() == "pong"

    using(engine, use)


def test_values_travel_both_ways(engine: Live) -> None:
    value = [2**60, b"\x00\xff", {1, 2}, ["$tag", None], {"é": 1.5}, "\u2028"]

    async def use(client: Client) -> Any:
        return await client.counter.get_or_create("values").echo(*value)

    assert using(engine, use) == value


def test_queues(engine: Live) -> None:
    async def use(client: Client) -> None:
        counter = client.counter.get_or_create("queues")
        assert await counter.send("jobs", {"n": 2}) is None
        assert await counter.send("jobs", {"n": 3}, wait=True) == QueueReply("completed", {"total": 5})
        late = await counter.send("idle", wait=True, timeout=dt.timedelta(milliseconds=20))
        assert late == QueueReply("timedOut")
        for _ in range(2):
            again = await counter.send("jobs", {"n": 1}, wait=True, idempotency_key="once")
            assert again == QueueReply("completed", {"total": 6})
        cut = await failing(counter.send("idle", wait=True))
        assert (cut.group, cut.code) == ("actor", "action_timed_out")

    using(engine, use)


def test_identity(engine: Live) -> None:
    async def use(client: Client) -> None:
        missing = client.counter.get("identity")
        for work in (missing.resolve(), missing.getState()):
            error = await failing(work)
            assert (error.group, error.code) == ("actor", "not_found")
        made = await client.counter.create("identity", input={"start": 4})
        assert await made.getState() == {"value": 4}
        actor_id = await client.counter.get("identity").resolve()
        assert actor_id == await made.resolve()
        assert await client.counter.get_for_id(actor_id).add(1) == 5
        error = await failing(client.counter.create("identity"))
        assert (error.code, error.metadata["existing_actor_id"]) == ("duplicate_key", actor_id)
        fresh = client.counter.get_or_create("with input", input={"start": 9})
        assert await fresh.getState() == {"value": 9}

    using(engine, use)


@pytest.mark.parametrize(
    "key", [["a,b"], [""], ["", ""], [",", ""], ["in/put", "é b,c", ""], ["%2F", "a+b", "&rvt-key=x", "\\0"]]
)
def test_every_key_reaches_its_own_actor(engine: Live, key: list[str]) -> None:
    async def use(client: Client) -> None:
        handle = client.counter.get_or_create(key)
        actor_id = await handle.resolve()
        await handle.send("idle", 1)
        row = await asyncio.to_thread(rows_of, engine, actor_id)
        assert row["key"] == PARTS[tuple(key)]
        assert await handle.action("add", 1) == 1
        assert await client.counter.get_for_id(actor_id).getState() == {"value": 1}
        assert await client.counter.get(key).getState() == {"value": 1}

    using(engine, use)


PARTS = {
    ("a,b",): "a,b",
    ("",): r"\0",
    ("", ""): r"\0/\0",
    (",", ""): r",/\0",
    ("in/put", "é b,c", ""): r"in\/put/é b,c/\0",
    ("%2F", "a+b", "&rvt-key=x", "\\0"): r"%2F/a+b/&rvt-key=x/\\0",
}


def rows_of(engine: Live, actor_id: str) -> Any:
    requests = Requests(find_endpoint(engine.url))
    with PlainTransport(requests.endpoint) as transport:
        (actor,) = transport.run(requests.actors(actor_ids=actor_id))["actors"]
        return actor


def test_errors_keep_what_they_say(engine: Live) -> None:
    async def use(client: Client) -> RivetError:
        return await failing(client.counter.get_or_create("errors").refuse())  # type: ignore[no-any-return]

    error = using(engine, use)
    assert (error.group, error.code, error.message) == ("user", "my_code", "user says no")
    assert error.metadata == {"big": 2, "x": 1}
    assert error.actor["key"] == "errors"
    assert len(error.ray_id) == 30


def test_an_action_without_an_actor_says_what_to_write() -> None:
    with pytest.raises(AttributeError, match=r"'ping' is not of all .* \.get_or_create\(key\)\.ping"):
        create_client("http://localhost:1").counter.ping()
    with (
        create_sync_client("http://localhost:1") as client,
        pytest.raises(AttributeError, match=r"Choose one: \.get_or_create\(key\)\.ping"),
    ):
        client.counter.ping()


def test_what_can_not_be_sent_is_refused_before_it_leaves(engine: Live) -> None:
    async def use(client: Client) -> None:
        handle = client.counter.get_or_create("unsent")
        error = await failing(handle.send("jobs", {"n": float("nan")}))
        assert error.code == "value_not_encodable"
        assert "$.body.n" in error.message

    using(engine, use)


def test_a_body_that_is_too_long_gets_its_answer(engine: Live) -> None:
    async def use(client: Client) -> None:
        handle = client.counter.get_or_create("long")
        for size in (70_000, 5_000_000):
            error = await failing(handle.send("idle", "x" * size))
            assert (error.group, error.code) == ("message", "incoming_too_long"), error
        assert await handle.getState() == {"value": 0}

    using(engine, use)


def test_nobody_there() -> None:
    with listening() as sock:
        port = sock.getsockname()[1]
    endpoint = f"http://127.0.0.1:{port}"

    async def main() -> RivetError:
        async with create_client(endpoint) as client:
            return await failing(client.counter.get("x").getState())  # type: ignore[no-any-return]

    requests = Requests(find_endpoint(endpoint))
    with pytest.raises(RivetError) as plain, PlainTransport(requests.endpoint) as transport:
        transport.run(requests.metadata())
    for error in (asyncio.run(main()), plain.value):
        assert (error.group, error.code) == ("client", "connection_failed")
        assert "rivet dev" in error.message
        assert endpoint in error.message


def test_names_of_python_itself_are_no_actions(engine: Live) -> None:
    async def use(client: Client) -> None:
        for thing in (client, client.counter.get("x")):
            with pytest.raises(AttributeError):
                thing.__wrapped__  # noqa: B018

    using(engine, use)


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning", "ignore:loop is closed:ResourceWarning")
def test_a_client_may_outlive_its_loop(engine: Live) -> None:
    client = create_client(engine.url)
    counter = client.counter.get_or_create("loops")
    assert [asyncio.run(counter.add(1)) for _ in range(3)] == [1, 2, 3]
    asyncio.run(client.close())
    gc.collect()


def test_other_encodings_are_refused() -> None:
    with pytest.raises(RivetError, match="'bare', 'cbor' or 'json'"):
        create_client(encoding="yaml")  # type: ignore[arg-type]


def test_the_plain_transport(engine: Live) -> None:
    requests = Requests(find_endpoint(engine.url))
    target = ByKey("counter", ("plain",))
    with PlainTransport(requests.endpoint) as transport:
        assert transport.run(requests.action(target, "add", [5])) == 5
        sent = transport.run(requests.send(target, "jobs", QueueSend({"n": 1}, wait=True)))
        assert sent == QueueReply("completed", {"total": 6})
        with pytest.raises(RivetError, match="user says no"):
            transport.run(requests.action(target, "refuse", []))
        actor = transport.run(requests.resolve(target))
        assert transport.run(requests.inspect(actor, "state"))["state"] == {"value": 6}
        patched = requests.inspect(actor, "state", method="PATCH", body={"state": {"value": 1}})
        assert transport.run(patched) == {"ok": True}
        assert transport.run(requests.inspect(actor, "queue", query={"limit": "5"}))["size"] == 0
        assert transport.run(requests.sleep(actor)) == {}
        assert transport.run(requests.destroy(actor)) == {}
        with pytest.raises(RivetError, match="not found"):
            transport.run(requests.resolve(ByKey("counter", ("plain",), create=False)))
        assert transport.run(requests.metadata())["runtime"] == "engine"


def test_a_token_is_carried_in_all_its_places(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"), live(registry(), token="to/k en") as engine:
        endpoint = engine.url.replace("http://", "http://:to%2Fk%20en@")

        async def main() -> None:
            async with create_client(endpoint) as client:
                handle = client.counter.get_or_create("x")
                assert await handle.add(1) == 1
                assert await client.counter.get_for_id(await handle.resolve()).add(1) == 2
                async with handle.connect() as conn:
                    assert await conn.add(1) == 3
            async with create_client(engine.url) as client:
                for refused in (client.counter.get("x").add(1), client.counter.get("x").connect().opened()):
                    error = await failing(refused)
                    assert (error.group, error.code) == ("auth", "forbidden")

        asyncio.run(main())
    assert "k en" not in caplog.text and "k+en" not in caplog.text and "k%20en" not in caplog.text


def test_what_few_need_is_imported_by_those_who_do() -> None:
    code = "import sys, rivetpy.cli.app; from rivetpy.client import create_client; create_client(); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "rivetpy.client.connection" in loaded
    assert not {"httpx", "websockets", "starlette", "cbor2"} & set(loaded)


def test_the_plain_transport_costs_little_to_import() -> None:
    code = "import sys, rivetpy.client.plain, rivetpy.client.requests; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "rivetpy.client.plain" in loaded
    assert not {"httpx", "asyncio", "starlette", "pydantic", "msgpack", "cbor2"} & set(loaded)
