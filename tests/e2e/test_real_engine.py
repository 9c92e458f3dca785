"""The Python client against a real Rivet Engine from npm and an actor in JavaScript."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import pytest

from rivetpy import RivetError
from rivetpy.client import EncodingName, QueueReply, create_client
from rivetpy.client.handles import Client
from tests.support.js import ENCODINGS
from tests.support.real import PATIENCE, real_engine

pytestmark = [pytest.mark.npm, pytest.mark.long]

VALUES: list[Any] = [
    *(None, True, 1, 2**31, -(2**40), 2**53, 2**60, -(2**70), 1.5, "wörld ☃ 𝄞", ""),
    *(b"\x00\xff", {1, 2}, ["$tag", None], ["$$tag", 1], {"é": [{"n": None}]}, []),
]
WHEN = dt.datetime(2026, 1, 2, 3, 4, 5, 678000, dt.UTC)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with real_engine(tmp_path_factory.mktemp("real")) as url:
        yield url


@pytest.fixture(params=ENCODINGS)
def encoding(request: pytest.FixtureRequest) -> Any:
    return request.param


def using(engine: str, encoding: EncodingName, use: Any) -> None:
    """Run ``use(client, key)``; each encoding has an actor of its own, which all tests of it share."""

    async def main() -> None:
        async with asyncio.timeout(PATIENCE), create_client(engine, encoding=encoding) as client:
            await use(client, [encoding, "ïn/é b"])

    asyncio.run(main())


async def failing(work: Any) -> RivetError:
    with pytest.raises(RivetError) as raised:
        await work
    return raised.value


def test_every_kind_of_handle(engine: str, encoding: EncodingName) -> None:
    given = {"héllo": "wörld ☃", "n": 2**40}

    async def use(client: Client, key: list[str]) -> None:
        made = client.counter.get_or_create(key, input=given)
        before = await made.getCount()
        assert await made.increment(5) == before + 5
        assert await made.input() == given
        assert await client.counter.get(key).increment(2) == before + 7
        actor_id = await made.resolve()
        assert actor_id == await client.counter.get(key).resolve()
        by_id = client.counter.get_for_id(actor_id)
        assert await by_id.action("increment", 1) == before + 8
        assert await by_id.resolve() == actor_id
        again = await failing(client.counter.create(key))
        assert (again.group, again.code) == ("actor", "duplicate_key")
        assert again.metadata["existing_actor_id"] == actor_id  # type: ignore[index]
        missing = client.counter.get([*key, "missing"])
        for work in (missing.getCount(), missing.resolve()):
            error = await failing(work)
            assert (error.group, error.code) == ("actor", "not_found")

    using(engine, encoding, use)


def test_values(engine: str, encoding: EncodingName) -> None:
    async def use(client: Client, key: list[str]) -> None:
        handle = client.counter.get_or_create(key)
        async with handle.connect() as conn:
            assert await handle.echo(VALUES) == VALUES
            assert [await conn.echo(value) for value in VALUES] == VALUES
            if encoding != "cbor":  # which that engine reads by way of JSON, and refuses times in
                back = WHEN if encoding == "bare" else WHEN.isoformat()
                assert await handle.echo(WHEN) == await conn.echo(WHEN) == back

    using(engine, encoding, use)


def test_queues(engine: str, encoding: EncodingName) -> None:
    async def use(client: Client, key: list[str]) -> None:
        handle = client.counter.get_or_create(key)
        before = await handle.getCount()
        assert await handle.send("jobs", {"n": 10}) is None
        waited = await handle.send("jobs", {"n": 5}, wait=True, timeout=60, idempotency_key="k é")
        assert waited == QueueReply("completed", {"count": before + 15})
        late = await handle.send("idle", 1, wait=True, timeout=0.2)
        assert late is not None and late.status in {"timedOut", "completed"}  # it drops what no queue takes

    using(engine, encoding, use)


def test_errors(engine: str, encoding: EncodingName) -> None:
    async def use(client: Client, key: list[str]) -> None:
        handle = client.counter.get_or_create(key)
        async with handle.connect() as conn:
            for way in (handle, conn):
                error = await failing(way.refuse())
                assert (error.group, error.code, error.message) == ("user", "my_code", "user says nö")
                assert error.metadata == {"big": 2}
                assert error.actor is not None and error.actor["actorId"] == conn.actor_id
                assert (await failing(way.crash())).code == "internal_error"
                assert (await failing(way.nope())).code == "action_not_found"
        unwanted = client.counter.get_or_create(key, params={"who": "nöbody"})
        for work in (unwanted.getCount(), unwanted.connect().opened()):
            error = await failing(work)
            assert (error.group, error.code, error.metadata) == ("user", "unwanted", {"who": "nöbody"})

    using(engine, encoding, use)


def test_connections(engine: str, encoding: EncodingName) -> None:
    who = {"who": "mé ☃ (x)"}

    async def use(client: Client, key: list[str]) -> None:
        handle = client.counter.get_or_create(key, params=who)
        async with handle.connect() as conn:
            events = conn.events("newCount")
            count = await conn.increment(3)
            assert await conn.params() == await handle.params() == who
            await handle.increment(2)
            assert [(await anext(events)).args for _ in range(2)] == [[count], [count + 2]]
            reply = await conn.send("jobs", {"n": 1}, wait=True)
            assert reply is not None and reply.response == {"count": count + 3}
            await conn.nap()
            assert await handle.increment(1) == count + 4
            assert (await anext(events)).args == [count + 4], "the connection outlives the actor's sleep"
            assert conn.actor_id == await handle.resolve()

    using(engine, encoding, use)


def test_raw_requests_and_websockets(engine: str) -> None:
    async def use(client: Client, key: list[str]) -> None:
        handle = client.counter.get_or_create(key)
        answer = await handle.fetch("/a b?x=1&y=é", "POST", content="hé")
        assert answer.json() == {"method": "POST", "path": "/a%20b?x=1&y=%C3%A9", "body": "hé"}
        async with await handle.websocket("/sub?x=1") as ws:
            await ws.send("hey")
            assert await ws.recv() == "HEY"
            await (await ws.ping())  # or a connection would be taken for dead after a while

    using(engine, "bare", use)


def test_bodies_in_parts(engine: str) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"x" * 10_000

    async def use(client: Client, key: list[str]) -> None:
        handle = client.counter.get_or_create(key)
        async with aclosing(await handle.fetch("/", "POST", content=parts(), stream=True)) as answer:
            assert json.loads(await answer.aread())["body"] == "x" * 30_000

    using(engine, "bare", use)


def test_without_waiting_until_the_actor_is_ready(engine: str, encoding: EncodingName) -> None:
    async def main() -> None:
        async with (
            asyncio.timeout(PATIENCE),
            create_client(engine, encoding=encoding, skip_ready_wait=True) as client,
        ):
            handle = client.counter.get_or_create([encoding, "at once"])
            by_id = client.counter.get_for_id(await handle.resolve())
            for way in (handle, by_id):
                assert await way.echo("é") == "é"
                assert (await way.fetch("/x", "POST", content="b")).json()["body"] == "b"
                async with way.connect() as conn:
                    assert await conn.echo("ü") == "ü"
                async with await way.websocket("/sub?x=1") as ws:
                    await ws.send("hey")
                    assert await ws.recv() == "HEY"

    asyncio.run(main())


def test_an_actor_that_is_made_and_destroyed(engine: str) -> None:
    async def use(client: Client, key: list[str]) -> None:
        made = await client.counter.create("mortal", input=[1])
        assert await made.input() == [1]
        await made.drop()
        gone = await failing(client.counter.get_for_id(await made.resolve()).getCount())
        assert (gone.group, gone.code) == ("actor", "not_found")
        assert await client.counter.get_or_create("mortal").getCount() == 0

    using(engine, "bare", use)
