"""Raw requests and WebSockets over ASGI: what an actor's hooks see, what of them reaches clients, how they end."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.websockets import WebSocket

from rivetpy import Registry, actor, setup
from tests.support.asgi import MADE, Client, error_of, serving
from tests.support.jump import run
from tests.support.sockets import Closing, connecting

left: list[str] = []


async def answer(c: Any, request: Request) -> Any:
    if request.url.path == "/nothing":
        return None
    if request.url.path == "/cors":
        return PlainTextResponse("mine", headers={"access-control-allow-origin": "https://mine.example"})
    c.state["n"] += 1
    shown = {name: value for name, value in request.headers.items() if name.startswith(("x-", "host"))}
    return PlainTextResponse(f"{request.url.path}?{request.url.query} {shown} {len(await request.body())}")


async def echo(c: Any, websocket: WebSocket) -> None:
    await websocket.accept()  # nobody has to, anybody may
    try:
        async for text in websocket.iter_text():
            if text == "crash":
                raise ValueError("the password is hunter2")
            if text == "enough":
                return
            await websocket.send_text(text)
    finally:
        left.append(c.actor_id)


def registry() -> Registry:
    raw = actor(state={"n": 0}, on_request=answer, on_websocket=echo, actions={"n": lambda c: c.state["n"]})
    return setup(use={"raw": raw, "plain": actor(actions={"ping": lambda c: "pong"})})


async def get(client: Client, path: str, **headers: str) -> Any:
    return await client.http.get(f"/gateway/raw{path}{'&' if '?' in path else '?'}{MADE}", headers=headers)


def test_what_a_request_shows() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            asked = {"x-mine": "1", "x-rivet-token": "secret"}
            assert (await get(client, "/request", **asked)).text == (
                "/? {'host': 'localhost:6420', 'x-mine': '1'} 0"
            )
            assert (await get(client, "/request/a%2Fb?x=%20&y", **asked)).text.startswith("/a/b?x=%20&y {")
            original = {"x-rivet-internal-original-request-url": "https://else.example/p?q=1"}
            assert (await get(client, "/request/z", **original)).text == "/p?q=1 {'host': 'else.example'} 0"
            broken = {"x-rivet-internal-original-request-url": "http://[broken"}
            assert (await get(client, "/request/z", **broken)).text.startswith("/z? {")
            row = await client.host.find("default", "raw", ())
            assert row is not None
            rooted = {"x-rivet-target": "actor", "x-rivet-actor": row.id}
            assert (await client.http.get("/request/root", headers=rooted)).text.startswith("/root? {")
            assert (await client.act("n", actor="raw", key="")).json() == {"output": 5}

    run(main())


def test_what_comes_of_answers(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            mine = await get(client, "/request/cors", origin="http://localhost:5173")
            assert mine.headers.get_list("access-control-allow-origin") == ["https://mine.example"]
            assert mine.headers["x-rivet-ray-id"] and mine.headers["x-rivet-actor"]
            assert error_of(await get(client, "/request/nothing")) == (500, "rivetkit.internal_error")
            assert "return a starlette.responses.Response" in caplog.text
            long = await client.http.post(f"/gateway/raw/request/x?{MADE}", content=bytes((20 << 20) + 1))
            assert error_of(long) == (413, "guard.invalid_request_body")
            missing = await client.http.get(f"/gateway/plain/request/x?{MADE}")
            assert error_of(missing) == (404, "handler.not_defined")

    with caplog.at_level(logging.ERROR, "rivetpy.engine"):
        run(main())


@pytest.mark.parametrize(
    ("said", "code", "reason"), [("crash", 1011, "rivetkit.internal_error"), ("enough", 1000, "")]
)
def test_the_end_of_a_websocket(said: str, code: int, reason: str) -> None:
    async def main() -> None:
        async with (
            serving(registry()) as client,
            connecting(client.app, f"/gateway/raw/websocket/a?{MADE}", "json") as socket,
        ):
            socket.send("hé")
            assert await socket.receive() == "hé"
            socket.send(said)
            with pytest.raises(Closing) as closing:
                await socket.receive()
            assert (closing.value.code, closing.value.reason) == (code, reason)

    run(main())


def test_a_client_that_leaves_and_an_engine_that_stops() -> None:
    async def main() -> None:
        path = f"/gateway/raw/anything?{MADE}"
        async with serving(registry()) as client:
            left.clear()
            async with connecting(client.app, path) as socket:
                socket.send("x")
                await socket.receive()
            assert len(left) == 1
            async with connecting(client.app, path) as socket:
                socket.send("x")
                await socket.receive()
                client.app.state.stopping.set()
                with pytest.raises(Closing) as closing:
                    await socket.receive()
                assert closing.value.reason == "actor.restarting"
                await asyncio.wait_for(socket.task, 100)
            assert len(left) == 2

    run(main())


def test_actors_without_handlers() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            for path, reason in (
                ("/websocket/x", "handler.not_defined"),
                ("/inspector/other", "handler.not_defined"),
            ):
                async with connecting(client.app, f"/gateway/plain{path}?{MADE}") as socket:
                    with pytest.raises(Closing) as closing:
                        await socket.receive()
                    assert (closing.value.code, closing.value.reason) == (1011, reason)

    run(main())
