"""Connections of the Python client to an engine, in each encoding: in the process, and over real sockets."""

from __future__ import annotations

import asyncio
import runpy
import socket
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from rivetpy import Registry, RivetError, UserError, actor, queue, setup
from rivetpy.client import EncodingName, create_client
from rivetpy.client.handles import Client, Handle
from rivetpy.testing import test_engine as engine_of
from tests.support.engine import ROOT
from tests.support.live import Live, listening, live

ENCODINGS = get_args(EncodingName)
VALUES = [2**60, -(2**40), 1.5, b"\x00\xff", {1, 2}, ["$tag", None], {"é": ["☃"]}, [True, None, ""]]


def js_registry() -> Registry:
    """The actors that the official client's tests talk to."""
    registry: Registry = runpy.run_path(str(ROOT / "tests" / "js" / "registry.py"))["registry"]
    return registry


@pytest.fixture(scope="module")
def engine() -> Iterator[Live]:
    with live(js_registry()) as running:
        yield running


@pytest.fixture(params=ENCODINGS)
def encoding(request: pytest.FixtureRequest) -> Any:
    return request.param


def using(engine: Live, use: Any, **options: Any) -> Any:
    """What ``use(client)`` returns, with a client of the engine."""

    async def main() -> Any:
        async with asyncio.timeout(60), create_client(engine.url, **options) as client:
            return await use(client)

    return asyncio.run(main())


async def refused(work: Any) -> RivetError:
    with pytest.raises(RivetError) as raised:
        await work
    return raised.value


async def until(condition: Any) -> None:
    while not condition():
        await asyncio.sleep(0.005)


def test_values_both_ways_and_over_both_ways(engine: Live, encoding: EncodingName) -> None:
    async def use(client: Client) -> None:
        handle = client.thing.get_or_create("values")
        async with handle.connect() as conn:
            assert [await handle.echo(value) for value in VALUES] == VALUES
            assert [await conn.echo(value) for value in VALUES] == VALUES
            assert await conn.action("a/b ü") == "odd name"
            assert await conn.action("nothing") is None

    using(engine, use, encoding=encoding)


def test_events_and_actions(engine: Live, encoding: EncodingName) -> None:
    async def use(client: Client) -> None:
        handle = client.thing.get_or_create([encoding, "talk"])
        async with handle.connect() as conn:
            heard: list[Any] = []
            stop = conn.on("said", lambda *args: heard.append(args))
            events = conn.events("said")
            assert await conn.shout(1, {"x": "é"}) == 1
            assert heard == [(1, {"x": "é"})], "an action's events are there before its answer"
            await handle.shout("from elsewhere")
            assert [(await anext(events)).args for _ in range(2)] == [[1, {"x": "é"}], ["from elsewhere"]]
            await until(lambda: len(heard) == 2)
            stop()
            events.close()
            await conn.shout("to nobody")
            assert len(heard) == 2
            reply = await conn.send("jobs", {"n": 1}, wait=True)
            assert reply is not None and reply.response == {"got": {"n": 1}}
            assert conn.actor_id == await handle.resolve() == await conn.resolve()

    using(engine, use, encoding=encoding)


@pytest.mark.parametrize("token", [None, "t0ken"])
def test_without_waiting_until_the_actor_is_ready(token: str | None) -> None:
    async def use(client: Client) -> None:
        handle = client.thing.get_or_create("at once", params={"who": "mé"})
        by_id = client.thing.get_for_id(await handle.resolve(), params={"who": "mé"})
        for way in (handle, by_id):
            assert await way.whoami() == {"who": "mé"}
            reply = await way.send("jobs", 1, wait=True)
            assert reply is not None and reply.response == {"got": 1}
            assert (await way.fetch("/x", "POST", content="b")).json()["body"] == "b"
            async with way.connect() as conn:
                assert await conn.whoami() == {"who": "mé"}
            async with await way.websocket("/sub?x=1") as ws:
                assert await ws.recv() == "/websocket/sub?x=1 {'who': 'mé'}"

    with live(js_registry(), token=token) as engine:
        using(engine, use, token=token, skip_ready_wait=True)


def test_errors_are_the_same_over_both_ways(engine: Live, encoding: EncodingName) -> None:
    async def use(client: Client) -> None:
        handle = client.thing.get_or_create([encoding, "érrors"])
        async with handle.connect() as conn:
            for way in (handle, conn):
                error = await refused(way.refuse())
                assert (error.group, error.code, error.message) == ("user", "my_code", "user says nö")
                assert error.metadata == {"big": 2, "x": b"\x01"}
                assert error.actor == {
                    "actorId": conn.actor_id,
                    "generation": 1,
                    "key": f"{encoding}/érrors",
                }
                assert (await refused(way.nope())).code == "action_not_found"
                assert (await refused(way.crash())).code == "internal_error"
                assert (await refused(way.echo(float("nan")))).code == "value_not_encodable"
                assert (await refused(way.big(1 << 20))).code == "outgoing_too_long"
            assert await conn.add(1) == 1

    using(engine, use, encoding=encoding)


def test_parameters_and_input_with_every_letter(engine: Live, encoding: EncodingName) -> None:
    who = {"who": "mé ☃ (x)", "n": [1, None]}
    given = {"héllo": "wörld ☃ 𝄞", "big": 2**40}

    async def use(client: Client) -> None:
        handle = client.thing.get_or_create([encoding, "ïnput/é b, c"], input=given, params=who)
        assert await handle.given() == given
        assert await handle.whoami() == who
        async with handle.connect() as conn:
            assert await conn.whoami() == who
        by_id = client.thing.get_for_id(await handle.resolve(), params=lambda: {"n": 1})
        assert await by_id.whoami() == {"n": 1}
        made = await client.thing.create([encoding, "made"], input=given, params=who)
        assert (await made.given(), await made.whoami()) == (given, who)
        unwanted = client.thing.get_or_create("x", params={"who": "nöbody"})
        for work in (unwanted.add(1), unwanted.connect().opened()):
            error = await refused(work)
            assert (error.group, error.code, error.metadata) == ("user", "unwanted", {"who": "nöbody"})
        assert (await refused(client.thing.get("x", params={"b": b"x"}).add(1))).path == "$.params"  # type: ignore[attr-defined]

    using(engine, use, encoding=encoding)


def test_an_idempotency_key_of_any_letters(engine: Live, encoding: EncodingName) -> None:
    async def use(client: Client) -> None:
        handle = client.thing.get_or_create([encoding, "once"])
        for body in (1, 2):
            reply = await handle.send("jobs", body, wait=True, idempotency_key=" ü%20\n☃")
            assert reply is not None and reply.response == {"got": 1}

    using(engine, use, encoding=encoding)


def test_raw_requests(engine: Live) -> None:
    async def use(client: Client) -> None:
        handle = client.thing.get_or_create("räw", params={"who": "mé"})
        answer = await handle.fetch("/a b?x=1&y=é", "POST", json={"é": 1}, headers={"x-given": "yes"})
        assert answer.status_code == 201 and answer.headers["x-own"] == "c3bc"
        told = answer.json()
        assert told["url"].endswith("/a b?x=1&y=%C3%A9") and told["params"] == {"who": "mé"}
        assert (told["method"], told["given"], told["body"]) == ("POST", "yes", '{"é":1}')
        assert (await handle.fetch("stream")).text == "one two"
        failed = await handle.fetch("/refuse")
        assert failed.status_code == 500 and failed.json()["code"] == "raw_code"
        missing = await client.plain.get_or_create("x").fetch("/")
        assert missing.status_code == 404 and missing.json()["code"] == "not_defined"

    using(engine, use)


def test_raw_websockets(engine: Live) -> None:
    from websockets.exceptions import ConnectionClosedError

    async def use(client: Client) -> None:
        handle = client.thing.get_or_create("räw", params={"who": "mé"})
        async with await handle.websocket("/sub/path?x=1") as ws:
            assert await ws.recv() == "/websocket/sub/path?x=1 {'who': 'mé'}"
            await ws.send("hey")
            await ws.send(b"\x01\x02")
            assert (await ws.recv(), await ws.recv()) == ("HEY", b"\x02\x01")
            await ws.send("bye")
            with pytest.raises(ConnectionClosedError) as closed:
                await ws.recv()
            assert closed.value.rcvd is not None
            assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4000, "gööd bye")

    using(engine, use)


def test_an_actor_that_is_made_later_and_one_that_sleeps(engine: Live) -> None:
    async def use(client: Client) -> None:
        heard: list[str] = []
        waiting = client.thing.get("later").connect()
        waiting.on("said", heard.append)
        await until(lambda: waiting.status == "disconnected")
        handle = client.thing.get_or_create("later")
        await handle.add(1)
        await waiting.opened()
        assert await waiting.add(1) == 2
        statuses: list[str] = []
        waiting.on_status_change(statuses.append)
        await waiting.action("sleep")
        await handle.shout("after")
        await until(lambda: heard == ["after"])
        assert statuses == [], "connections stay while the actor sleeps"

    using(engine, use)


def test_the_next_engine_on_the_same_port_and_none_for_a_while() -> None:
    registry = js_registry()
    with listening() as sock:
        first = Live(registry, sock)
        address = sock.getsockname()

    async def main() -> None:
        async with asyncio.timeout(60), create_client(first.url) as client:
            handle = client.thing.get_or_create("moved")
            conn = handle.connect()
            heard: list[str] = []
            errors: list[RivetError] = []
            conn.on("said", heard.append)
            conn.on_error(errors.append)
            assert await conn.add(1) == 1
            await asyncio.to_thread(first.stop)
            await until(lambda: len(errors) >= 3)
            assert [error.code for error in errors[:3]] == [
                "restarting",
                "connection_failed",
                "connection_failed",
            ]
            later = asyncio.ensure_future(conn.add(1))
            with socket.create_server(address) as sock:
                second = Live(registry, sock)
                try:
                    assert await later == 1, "a call waits for the engine that is to come"
                    await handle.shout("here")
                    await until(lambda: heard == ["here"])
                finally:
                    await client.close()
                    await asyncio.to_thread(second.stop)

    asyncio.run(main())


def test_a_client_closes_its_connections(engine: Live) -> None:
    async def use(client: Client) -> Any:
        conn = client.thing.get_or_create("closing").connect()
        await conn.opened()
        return conn

    conn = using(engine, use)
    assert conn.status == "closed"


def test_a_connection_in_the_process() -> None:
    """`rivetpy.testing` has connections, too, and so has every test of an actor with them."""

    def check(c: Any, params: Any) -> None:
        if params != {"key": 1}:
            raise UserError("no key", code="no_key")

    async def shout(c: Any, word: str) -> None:
        c.broadcast("said", word)

    async def on_websocket(c: Any, websocket: Any) -> None:
        await websocket.send_text("hello")

    door = actor(
        actions={"shout": shout},
        queues={"jobs": queue()},
        on_before_connect=check,
        on_websocket=on_websocket,
    )

    async def main() -> None:
        async with engine_of(setup(use={"door": door})) as t:
            handle: Handle = t.client.door.get_or_create("x", params={"key": 1})
            async with handle.connect() as conn:
                events = conn.events("said")
                await conn.shout("hi")
                assert (await anext(events)).args == ["hi"]
            assert (await refused(t.client.door.get_or_create("x").connect().opened())).code == "no_key"
            ws = await handle.websocket("/")
            assert await ws.recv() == "hello"
            await ws.close()

    asyncio.run(main())
