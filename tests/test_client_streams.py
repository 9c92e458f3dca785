"""Bodies in parts: what `fetch` sends as it comes, and answers before their end; over a port and in the process."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from rivetpy import Registry, RivetError, actor, setup
from rivetpy.client import create_client, create_sync_client
from rivetpy.client.handles import Client
from rivetpy.testing import test_engine as engine_of
from tests.support.live import Live, listening, live

#: How many numbers the actor has counted, and whether it was stopped: what a reader that leaves puts an end to.
counted: list[int] = []
stopped = asyncio.Event()


async def count(to: int) -> AsyncIterator[bytes]:
    try:
        for number in range(to):
            counted.append(number)
            yield b"%d\n" % number
            await asyncio.sleep(0)
        if to > 1000:
            await asyncio.Event().wait()
    finally:
        stopped.set()


async def answer(c: Any, request: Request) -> Response:
    if request.method == "GET":
        return StreamingResponse(count(int(request.query_params["to"])), 203, {"x-kind": "numbers"})
    return PlainTextResponse(f"{len(await request.body())} {request.headers.get('content-type')}")


def registry() -> Registry:
    return setup(use={"raw": actor(on_request=answer), "bare": actor()})


@pytest.fixture(scope="module")
def engine() -> Iterator[Live]:
    with live(registry()) as running:
        yield running


@contextlib.asynccontextmanager
async def over_a_port(engine: Live) -> AsyncIterator[Client]:
    async with create_client(engine.url) as client:
        yield client


@contextlib.asynccontextmanager
async def in_the_process(engine: Live) -> AsyncIterator[Client]:
    async with engine_of(registry()) as t:
        yield t.client


both = pytest.mark.parametrize("using", [over_a_port, in_the_process])


def run(engine: Live, using: Callable[[Live], Any], use: Callable[[Client], Any]) -> None:
    async def main() -> None:
        async with asyncio.timeout(60), using(engine) as client:
            await use(client)

    asyncio.run(main())
    gc.collect()  # what was left open would be told of here


async def pieces(number: int) -> AsyncIterator[bytes]:
    for _ in range(number):
        yield b"x" * 10_000
        await asyncio.sleep(0)
    yield b""


@both
def test_a_body_in_parts(engine: Live, using: Any) -> None:
    async def use(client: Client) -> None:
        handle = client.raw.get_or_create("a")
        for content in (pieces(30), iter([b"x" * 100_000] * 3)):
            got = await handle.fetch("/", "PUT", content=content, headers={"content-type": "text/x"})
            assert got.text == "300000 text/x"
        assert (await handle.fetch("/", "PUT", content=[])).text == "0 None"

    run(engine, using, use)


@both
def test_an_answer_as_it_comes(engine: Live, using: Any) -> None:
    async def use(client: Client) -> None:
        handle = client.raw.get_or_create("a")
        async with aclosing(await handle.fetch("/?to=3", stream=True)) as got:
            assert (got.status_code, got.headers["x-kind"], got.is_closed) == (203, "numbers", False)
            assert [line async for line in got.aiter_lines()] == ["0", "1", "2"]
        assert (await handle.fetch("/?to=3")).text == "0\n1\n2\n"
        unread = await handle.fetch("/?to=3", stream=True)
        await unread.aclose()

    run(engine, using, use)


def test_who_leaves_early_ends_the_answer(engine: Live) -> None:
    counted.clear()

    async def use(client: Client) -> None:
        async with aclosing(await client.raw.get_or_create("a").fetch("/?to=1000000", stream=True)) as got:
            assert (await anext(got.aiter_lines())) == "0"
        assert (await client.raw.get_or_create("a").fetch("/?to=1")).text == "0\n"

    run(engine, over_a_port, use)
    assert len(counted) < 1_000_000


def test_a_body_that_fails_is_the_senders_failure(engine: Live) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"x"
        raise ConnectionError("my own")

    async def use(client: Client) -> None:
        handle = client.raw.get_or_create("a")
        with pytest.raises(ConnectionError, match="my own"):
            await handle.fetch("/", "PUT", content=broken())
        assert (await handle.fetch("/", "PUT", content=b"x")).text == "1 None"

    run(engine, over_a_port, use)


@both
def test_an_actor_that_does_not_want_it(engine: Live, using: Any) -> None:
    async def use(client: Client) -> None:
        got = await client.bare.get_or_create("a").fetch("/", "PUT", content=pieces(3))
        assert (got.status_code, got.json()["code"]) == (404, "not_defined")
        long = await client.raw.get_or_create("a").fetch("/", "PUT", content=pieces(3000))
        assert (long.status_code, long.json()["code"]) == (413, "invalid_request_body")

    run(engine, using, use)


@pytest.mark.parametrize(("parts", "asked"), [(False, 2), (True, 1)], ids=["whole", "in parts"])
def test_what_did_not_run_is_sent_again_when_it_still_is_there(parts: bool, asked: int) -> None:
    requests: list[bytes] = []
    body = b'{"group":"actor","code":"restarting","message":"m"}'
    head = b"x-rivet-error: actor.restarting\r\ncontent-type: application/json\r\n"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while b"xyz" not in (got := await reader.read(65536)):
            if not got:
                break
        requests.append(got)
        refusal = b"HTTP/1.1 503 X\r\n%scontent-length: %d\r\n\r\n%s" % (head, len(body), body)
        writer.write(refusal if len(requests) == 1 else b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        await writer.drain()
        writer.close()

    async def content() -> AsyncIterator[bytes]:
        yield b"xyz"

    async def main() -> None:
        with listening() as sock:
            server = await asyncio.start_server(serve, sock=sock.dup())
            url = f"http://127.0.0.1:{sock.getsockname()[1]}"
            async with server, create_client(url, disable_metadata_lookup=True) as client:
                work = client.a.get_or_create("k").fetch("/", "PUT", content=content() if parts else b"xyz")
                if not parts:
                    assert (await work).text == "ok"
                    return
                with pytest.raises(RivetError) as refused:
                    await work
                assert refused.value.code == "restarting"

    asyncio.run(main())
    assert len(requests) == asked


def test_without_asyncio(engine: Live) -> None:
    with create_sync_client(engine.url) as client:
        handle = client.raw.get_or_create("sync")
        assert handle.fetch("/", "PUT", content=(b"x" * 10_000 for _ in range(30))).text == "300000 None"
        got = handle.fetch("/?to=3", stream=True)
        assert isinstance(got, httpx.Response) and not got.is_closed
        assert list(got.iter_lines()) == ["0", "1", "2"]
        assert got.is_closed
        early = handle.fetch("/?to=1000000", stream=True)
        assert next(early.iter_lines()) == "0"
        early.close()
        assert handle.fetch("/?to=1").read() == b"0\n"
