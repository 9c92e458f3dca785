"""A mounted engine behind middleware, on a server that bounds nothing: what others may send, and from where."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rivetpy import Registry, actor, event, queue, setup
from rivetpy.client import create_client
from rivetpy.engine import http
from tests.support.asgi import MADE
from tests.support.live import program
from tests.support.wire import Raw, Wire, ending_all

ROOT = "/my/rivet"
ECHO = f"{ROOT}/gateway/room/action/echo?{MADE}&rvt-key="
RAW = f"{ROOT}/gateway/room/request/x?{MADE}&rvt-key="
CONNECT = f"{ROOT}/gateway/room/connect?{MADE}&rvt-key="
LISTED = f"{ROOT}/actors?name=room&namespace=default"


async def answer(c: Any, request: Request) -> Response:
    async def parts() -> Any:
        for part in (b"one ", b"two"):
            yield part

    return StreamingResponse(parts())


def registry() -> Registry:
    room = actor(
        actions={"echo": lambda c, *args: list(args)},
        queues={"ignored": queue()},
        events={"news": event()},
        on_request=answer,
    )
    return setup(use={"room": room})


def mounted(directory: Path, **options: Any) -> FastAPI:
    engine = registry().asgi(directory=directory, **options)
    app = FastAPI(lifespan=engine.lifespan)
    app.mount(ROOT, engine)

    @app.middleware("http")
    async def passes(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        answer = await go_on(request)
        answer.headers["x-passed"] = "yes"
        return answer

    app.add_middleware(GZipMiddleware)
    app.add_middleware(CORSMiddleware, allow_origins=["https://app.example"])
    return app


@pytest.fixture(scope="module", params=["httptools", "h11"])
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with program(
        mounted(tmp_path_factory.mktemp("data")), http=request.param, ws_per_message_deflate=False
    ) as port:
        yield port


@pytest.fixture(autouse=True)
def clients_end() -> Iterator[None]:
    with ending_all():
        yield


def request(method: str, path: str, *headers: str, host: str = "localhost") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *headers, "", ""]).encode()


def made(port: int, key: str) -> bool:
    """Whether there is an actor with this key."""
    found = httpx.get(f"http://localhost:{port}{LISTED}&key={key}").json()["actors"]
    return bool(found)


def test_everything_passes_through_middleware(port: int) -> None:
    async def main() -> None:
        async with asyncio.timeout(60), create_client(f"http://localhost:{port}{ROOT}") as client:
            room = client.room.get_or_create("passes")
            assert await room.echo("x" * 10) == ["x" * 10]
            waited = await room.send("ignored", 1, wait=True, timeout=0.05)
            assert waited is not None and waited.status == "timedOut"
            got = await room.fetch("/x")
            assert (got.text, got.headers["x-passed"]) == ("one two", "yes")
            async with room.connect() as conn:
                assert await conn.echo(1) == [1]

    asyncio.run(main())


def test_a_body_that_comes_too_slowly(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BODY_TIME", 0.3)
    for path in (ECHO, RAW):
        raw = Raw(port).send(request("POST", f"{path}slow", "Content-Length: 100") + b"{")
        assert raw.answer() == (408, "guard.request_timeout")
    assert not made(port, "slow")


def test_a_body_that_is_too_long_by_its_own_word(port: int) -> None:
    """No byte of it is waited for."""
    for path, error in (
        (ECHO, (400, "message.incoming_too_long")),
        (RAW, (413, "guard.invalid_request_body")),
    ):
        raw = Raw(port).send(request("POST", f"{path}long", f"Content-Length: {10**12}"))
        assert raw.answer() == error
    assert not made(port, "long")


def test_a_body_without_an_end(port: int) -> None:
    raw = Raw(port).send(request("POST", f"{ECHO}endless", "Transfer-Encoding: chunked"))
    for _ in range(3):
        raw.send(b"10000\r\n" + b"a" * 65536 + b"\r\n")
    assert raw.answer() == (400, "message.incoming_too_long")
    assert not made(port, "endless")


def test_who_leaves_in_the_middle_of_a_body_leaves_nothing(port: int) -> None:
    raw = Raw(port).send(request("POST", f"{ECHO}left", "Content-Length: 100") + b"{")
    raw.sock.close()
    assert not made(port, "left")


@pytest.mark.parametrize(
    "headers",
    [
        ["Host: evil.example"],
        ["Host: localhost", "Origin: https://evil.example"],
        [
            "Host: localhost",
            "Origin: https://app.example",
        ],  # which the program's own pages may come from, not ours
        ["Host: localhost", "Origin: null"],
        ["Host: localhost", "Sec-Fetch-Site: cross-site"],
        ["Host: localhost:80", "X-Forwarded-Host: localhost", "Origin: http://localhost.evil.example"],
    ],
    ids=["host", "origin", "allowed elsewhere", "no origin", "picture", "forwarded"],
)
def test_pages_of_others_change_nothing(port: int, headers: list[str]) -> None:
    host, *others = headers
    for method, path in (("POST", ECHO), ("GET", RAW), ("PUT", RAW)):
        sent = request(method, f"{path}foreign", *others, "Content-Length: 2", host=host[6:]) + b"{}"
        assert Raw(port).send(sent).answer() == (403, "auth.forbidden")
    wire = Wire(port, f"{CONNECT}foreign", host=host, headers=others)
    assert wire.closed() == (1011, "auth.forbidden")
    assert not made(port, "foreign")


def test_a_message_that_is_too_long(port: int) -> None:
    wire = Wire(port, f"{CONNECT}talks", offer="rivet, rivet_encoding.json")
    assert json.loads(wire.frame()[1])["body"]["tag"] == "Init"
    wire.send(b'"' + b"a" * 70_000 + b'"', opcode=1)
    assert wire.closed() == (1011, "message.incoming_too_long")


def test_with_a_token_nothing_but_the_token_counts(tmp_path: Path) -> None:
    with program(mounted(tmp_path, token="s3cret")) as port:
        sent = request("POST", f"{ECHO}a", "Content-Length: 2", host="far.example") + b"{}"
        assert Raw(port).send(sent).answer() == (403, "auth.forbidden")
        known = request("POST", f"{ECHO}a", "Content-Length: 2", "X-Rivet-Token: s3cret", host="far.example")
        assert Raw(port).send(known + b"{}").answer() == (200, "")
        for path in ("/metadata", "/actors?name=room&namespace=default", "/envoys?namespace=default"):
            assert Raw(port).send(request("GET", ROOT + path)).answer() == (403, "auth.forbidden")
