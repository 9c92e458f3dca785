"""An engine that sends its clients to another address, as a cloud does (wire 2)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from rivetpy import RivetError, actor, event, setup
from rivetpy.client import create_client, create_sync_client
from tests.support.live import Live, live, program

TOKEN = "pk_zz"


class Front:
    """Answers nothing but the metadata: each time what is given last, or the status that is next."""

    def __init__(self, engine: Live) -> None:
        self.engine = engine
        self.app = Starlette(routes=[Route("/base/metadata", self.metadata)])
        self.url = ""
        self.begin()

    def begin(self) -> None:
        self.told: dict[str, Any] = {"clientEndpoint": self.engine.url, "clientToken": TOKEN}
        self.statuses: list[int] = []
        self.asked: list[tuple[str, str]] = []

    async def metadata(self, request: Request) -> JSONResponse:
        self.asked.append((request.url.query, request.headers.get("authorization", "")))
        status = self.statuses.pop(0) if self.statuses else 200
        return JSONResponse(self.told if status == 200 else {}, status)


@pytest.fixture(scope="module")
def engine() -> Iterator[Live]:
    def shout(c: Any, word: str) -> str:
        c.broadcast("said", word)
        return word.upper()

    room = actor(actions={"shout": shout}, events={"said": event()})
    with live(setup(use={"room": room}), token=TOKEN) as running:
        yield running


@pytest.fixture(scope="module")
def shared(engine: Live) -> Iterator[Front]:
    front = Front(engine)
    with program(front.app) as port:
        front.url = f"http://127.0.0.1:{port}/base"
        yield front


@pytest.fixture
def front(shared: Front) -> Front:
    shared.begin()
    return shared


def test_clients_go_where_they_are_sent_and_ask_once(front: Front) -> None:
    async def main() -> None:
        async with asyncio.timeout(60), create_client(front.url, "its own", headers={"x-a": "b"}) as client:
            assert front.asked == []
            handle = client.room.get_or_create("a")
            assert await handle.shout("hey") == "HEY"
            async with handle.connect() as conn:
                events = conn.events("said")
                assert await conn.shout("you") == "YOU"
                assert (await anext(events)).args == ["you"]
            assert await client.room.get_for_id(await handle.resolve()).shout("id") == "ID"

    asyncio.run(main())
    assert front.asked == [("namespace=default", "Bearer its own")]
    with create_sync_client(front.url) as client:
        assert client.room.get_or_create("a").shout("sync") == "SYNC"


def test_first_calls_at_once_and_a_connection_first(front: Front) -> None:
    async def main() -> None:
        async with create_client(front.url) as client, client.room.get_or_create("a").connect() as conn:
            assert await conn.shout("a") == "A"
        async with asyncio.timeout(60), create_client(front.url) as client:
            handle = client.room.get_or_create("a")
            assert await asyncio.gather(*(handle.shout(word) for word in "abcdef")) == list("ABCDEF")

    asyncio.run(main())


def test_what_it_does_not_name_stays(front: Front) -> None:
    front.told = {"clientEndpoint": front.engine.url}

    async def main() -> None:
        async with create_client(front.url, TOKEN, "elsewhere") as client:
            with pytest.raises(RivetError) as unknown:
                await client.room.get_or_create("a").shout("hey")
            assert (unknown.value.group, unknown.value.code) == ("namespace", "not_found")
        front.told["clientNamespace"] = "default"
        async with create_client(front.url, TOKEN, "elsewhere") as client:
            assert await client.room.get_or_create("a").shout("hey") == "HEY"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("told", "statuses"),
    [({"clientToken": "x", "clientNamespace": "y"}, []), ({}, [404]), ({}, [403])],
    ids=["no endpoint", "no such page", "refused"],
)
def test_without_a_word_they_stay(front: Front, told: dict[str, str], statuses: list[int]) -> None:
    front.told, front.statuses = told, statuses

    async def main() -> None:
        async with create_client(front.url, TOKEN) as client:
            for _ in range(2):
                with pytest.raises(RivetError, match="Not Found"):  # the front's own answer
                    await client.room.get_or_create("a").shout("hey")

    asyncio.run(main())
    assert front.asked == [("namespace=default", f"Bearer {TOKEN}")]


def test_who_can_not_tell_now_is_asked_again(front: Front) -> None:
    front.statuses = [500, 502]

    async def main() -> None:
        async with create_client(front.url) as client:
            handle = client.room.get_or_create("a")
            with pytest.raises(RivetError) as failed:
                await handle.shout("hey")
            assert (failed.value.group, failed.value.code) == ("client", "connection_failed")
            async with handle.connect() as conn:  # which tries again by itself
                assert await conn.shout("hey") == "HEY"

    asyncio.run(main())
    assert len(front.asked) == 3


def test_an_address_that_is_none_is_told(front: Front) -> None:
    front.told = {"clientEndpoint": "elsewhere"}

    async def main() -> None:
        async with create_client(front.url) as client:
            with pytest.raises(RivetError) as told:
                await client.room.get_or_create("a").shout("hey")
            assert (told.value.group, told.value.code) == ("client", "invalid_endpoint")

    asyncio.run(main())


def test_nobody_is_asked_where_that_is_not_wanted(front: Front) -> None:
    async def main() -> None:
        async with create_client(front.url, disable_metadata_lookup=True) as client:
            with pytest.raises(RivetError, match="Not Found"):
                await client.room.get_or_create("a").shout("hey")

    asyncio.run(main())
    assert front.asked == []
