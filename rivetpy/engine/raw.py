"""Raw requests and WebSockets as on_request and on_websocket of an actor see them (wire 6.3, 7.4)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import Message, Scope, Send
from starlette.websockets import WebSocket, WebSocketState

from rivetpy.engine.http import Headers, read_body
from rivetpy.engine.sockets import Socket
from rivetpy.errors import RivetError
from rivetpy.host import Host

PREFIX = b"/request"
MAX_BODY = 20 * 1024 * 1024
#: Where clients say which URL they were asked for, when it was a whole one.
ORIGINAL_URL = b"x-rivet-internal-original-request-url"
#: Not the actor's business.
_OURS = frozenset({ORIGINAL_URL, b"x-rivet-token"})


def is_raw(path: bytes) -> bool:
    """Whether on_request is to answer at an actor's path."""
    return path == PREFIX or path.startswith(PREFIX + b"/")


def check_hook(host: Host, name: str, hook: str) -> None:
    """Raises RivetError ``handler.not_defined``: unlike ``actor.not_found`` no client tries that again."""
    definition = host.registry.actors.get(name)
    if definition is not None and hook not in definition.hooks:
        raise RivetError("handler", "not_defined", f"Actor {name!r} has no {hook}.", status=404)


async def read_raw_body(request: Request) -> bytes:
    """The body of a raw request.

    Raises RivetError ``guard.invalid_request_body``, ``guard.request_timeout``, or ClientDisconnect.
    """
    try:
        return await read_body(request, MAX_BODY)
    except RivetError as error:
        if error.group != "message":
            raise
        raise RivetError("guard", "invalid_request_body", error.message, error.metadata, 413) from None


def request_for_actor(request: Request, path: bytes, query: bytes, body: bytes) -> Request:
    """The request as the actor sees it: ``path`` without the prefix, or the URL its client was asked for."""
    raw = path.removeprefix(PREFIX) or b"/"
    scope = _scope(request.scope, raw, query)
    original = request.headers.get(ORIGINAL_URL.decode())
    if original is not None:
        _at_url(scope, original)
    waiting = [body]

    async def receive() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await request.receive()

    return Request(scope, receive)


def _scope(scope: Scope, path: bytes, query: bytes) -> Scope:
    headers = [pair for pair in scope["headers"] if pair[0] not in _OURS]
    shown = unquote(path.decode("latin-1"))
    return {
        **scope,
        "path": shown,
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": headers,
    }


def _at_url(scope: Scope, url: str) -> None:
    try:
        parts = urlsplit(url)
        host, path, query = parts.netloc.encode("idna"), parts.path.encode(), parts.query.encode()
    except ValueError:
        return  # the path it was sent to says the same
    scope["scheme"] = parts.scheme or scope["scheme"]
    scope["raw_path"], scope["path"] = path or b"/", unquote(parts.path) or "/"
    scope["query_string"] = query
    scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"host"] + [(b"host", host)]


@dataclass(slots=True)
class RawAnswer:
    """The response that an actor's on_request returned, streaming or not, on its way out."""

    response: Response
    request: Request
    headers: Headers = field(default_factory=list)

    async def send(self, send: Send) -> None:
        """Write it out, with the headers that every answer carries; the actor's own win."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": _merged(message["headers"], self.headers)}
            await send(message)

        await self.response(self.request.scope, self.request.receive, with_headers)


def _merged(own: Iterable[tuple[bytes, bytes]], added: Headers) -> Headers:
    given = list(own)
    names = {name.lower() for name, _ in given}
    return [*given, *(pair for pair in added if pair[0] not in names)]


def raw_answer(returned: object, request: Request) -> RawAnswer:
    """What on_request returned, as an answer. Raises TypeError with the fix for anything else."""
    if not isinstance(returned, Response):
        raise TypeError(
            f"on_request returned {returned!r:.100}; return a starlette.responses.Response "
            "(PlainTextResponse, JSONResponse, StreamingResponse, …)."
        )
    return RawAnswer(returned, request)


class ActorWebSocket(WebSocket):
    """A WebSocket that is open when the actor gets it; `accept` may be called, and does nothing."""

    async def accept(
        self, subprotocol: str | None = None, headers: Iterable[tuple[bytes, bytes]] | None = None
    ) -> None:
        """It was accepted already."""


def websocket_for_actor(
    connection: HTTPConnection, path: bytes, query: bytes, socket: Socket, stopping: asyncio.Event
) -> ActorWebSocket:
    """The open WebSocket as the actor sees it. When the engine stops, it reads like a client that left."""

    async def receive() -> Message:
        reading = asyncio.ensure_future(socket.receive_message())
        stopped = asyncio.ensure_future(stopping.wait())
        try:
            await asyncio.wait((reading, stopped), return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                return {"type": "websocket.disconnect", "code": 1012, "reason": "actor.restarting"}
            return reading.result()
        finally:
            reading.cancel()
            stopped.cancel()

    opened = ActorWebSocket(_scope(connection.scope, path, query), receive, socket.send_message)
    opened.client_state = opened.application_state = WebSocketState.CONNECTED
    return opened
