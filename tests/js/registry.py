"""What the official JavaScript client's tests talk to."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.websockets import WebSocket

from rivetpy import ActorOptions, UserError, actor, queue, setup
from rivetpy.workflow import Loop, workflow


def _refuse(c: Any) -> None:
    raise UserError("user says nö", code="my_code", metadata={"big": 2, "x": b"\x01"})


def _crash(c: Any) -> None:
    raise ValueError("the password is hunter2")


def _add(c: Any, amount: int) -> int:
    c.state["value"] += amount
    return int(c.state["value"])


async def _work(ctx: Any) -> Any:
    return await ctx.loop("work", _iteration)


async def _iteration(loop: Any) -> Any:
    message = await loop.queue.next("wait", names=["jobs"], completable=True)
    await message.complete({"got": message.body})
    return Loop.continue_()


def _shout(c: Any, *args: Any) -> int:
    c.broadcast("said", *args)
    return len(c.conns)


def _check(c: Any, params: Any) -> None:
    if params == {"who": "nöbody"}:
        raise UserError("not you", code="unwanted", metadata=params)


async def _request(c: Any, request: Request) -> Response:
    if request.url.path == "/refuse":
        raise UserError("no pages", code="raw_code")
    if request.url.path == "/stream":
        return StreamingResponse(iter(["one ", "two"]), media_type="text/plain")
    told = {
        "method": request.method,
        "url": str(request.url),
        "body": (await request.body()).decode(),
        "given": request.headers.get("x-given"),
        "params": c.conn.params,
    }
    return JSONResponse(told, 201, {"x-own": "ü".encode().hex()})


async def _websocket(c: Any, websocket: WebSocket) -> None:
    await websocket.send_text(f"{websocket.url.path}?{websocket.url.query} {c.conn.params}")
    while True:
        message = await websocket.receive()
        if message.get("text") == "bye":
            await websocket.close(4000, "gööd bye")
            return
        if message.get("text") == "refuse":
            raise UserError("no", code="raw_code")
        if message.get("bytes") is not None:
            await websocket.send_bytes(message["bytes"][::-1])
        else:
            await websocket.send_text(message["text"].upper())


thing = actor(
    create_state=lambda c, given: {"value": 0, "given": given},
    queues={"jobs": queue(), "ignored": queue()},
    run=workflow(_work),
    actions={
        "add": _add,
        "echo": lambda c, value: value,
        "given": lambda c: c.state["given"],
        "nested.deeper": lambda c, *args: list(args),
        "a/b ü": lambda c: "odd name",
        "nothing": lambda c: None,
        "refuse": _refuse,
        "crash": _crash,
        "big": lambda c, size: "x" * size,
        "shout": _shout,
        "whoami": lambda c: c.conn.params,
        "kick": lambda c: c.conn.disconnect("go.away"),
        "sleep": lambda c: c.sleep(),
        "destroy": lambda c: c.destroy(),
    },
    on_before_connect=_check,
    on_request=_request,
    on_websocket=_websocket,
    options=ActorOptions(action_timeout=20),
)

plain = actor(actions={"ping": lambda c: "pong"})

registry = setup(use={"thing": thing, "plain": plain})
