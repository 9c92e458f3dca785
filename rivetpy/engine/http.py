"""Bodies in and answers out over ASGI: bounded reading, JSON answers, errors that hide what is internal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import unquote_to_bytes

from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.types import Receive, Send

from rivetpy.engine.actors import specifier_of
from rivetpy.errors import RivetError, StoreError
from rivetpy.host.logs import actor_log
from rivetpy.identity import format_key
from rivetpy.store import ActorRow
from rivetpy.wire.errors import error_body, visible
from rivetpy.wire.jsonvalue import JsonObject, encode

log = logging.getLogger("rivetpy.engine")

T = TypeVar("T")
Headers = list[tuple[bytes, bytes]]

#: Seconds for a request's whole body.
BODY_TIME = 120.0
JSON = b"application/json"
TEXT = b"text/plain; charset=utf-8"


@dataclass(slots=True)
class Answer:
    """What goes back to a client."""

    body: bytes
    status: int = 200
    content_type: bytes = JSON
    headers: Headers = field(default_factory=list)

    async def send(self, send: Send) -> None:
        """Write it out."""
        headers = [
            (b"content-type", self.content_type),
            (b"content-length", str(len(self.body)).encode()),
            *self.headers,
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def json_answer(tree: JsonObject, status: int = 200) -> Answer:
    """A JSON object as an answer."""
    return Answer(encode(tree), status)


def error_answer(
    error: Exception, ray_id: str, row: ActorRow | None = None, what: str = "a request"
) -> Answer:
    """An error as an answer, as far as a client may see it. ``row``, ``what``: whose it is, and what failed."""
    shown = for_client(error, ray_id, row, what)
    answer = json_answer(error_body(shown, None if row is None else specifier_of(row)), shown.status)
    answer.headers.append((b"x-rivet-error", header_text(f"{shown.group}.{shown.code}")))
    return answer


def for_client(
    error: Exception, ray_id: str, row: ActorRow | None = None, what: str = "a request"
) -> RivetError:
    """The error as a client may see it; what it may not see goes to the log, with the same ray id.

    The log names the actor whose it is, and what failed.
    """
    shown = visible(error)
    if shown is not error or isinstance(error, StoreError):
        trouble = isinstance(error, StoreError)  # which says all in one line, where a stack says nothing
        text = f": {error}" if trouble else ""
        said = log if row is None else actor_log(row.name, format_key(row.key))
        said.error("%s failed (ray %s)%s", what, ray_id, text, exc_info=None if trouble else error)
    return shown


def header_text(text: str) -> bytes:
    """Any text as a header's value: UTF-8, control characters coded so that they can't end the header."""
    if text.isascii() and text.isprintable():
        return text.encode()
    return b"".join(
        b"%%%02X" % byte if byte < 0x20 or byte == 0x7F else bytes([byte])
        for byte in text.encode("utf-8", "replace")
    )


def raw_path(request: HTTPConnection) -> bytes:
    """The path as it came, still percent-coded, without the path the application is mounted under."""
    scope = request.scope
    raw: bytes | None = scope.get("raw_path")
    if raw is None:  # an optional part of ASGI; without it a coded slash can't be told from a real one
        raw = scope["path"].encode()
    root: str = scope.get("root_path", "")
    if not root:
        return raw
    # Of a proxy in front of the program the part of the root may have been taken away, or not.
    mounted = root.removeprefix(scope.get("app_root_path", ""))
    return _below(raw, root) or _below(raw, mounted) or raw


def _below(raw: bytes, root: str) -> bytes | None:
    """The path below a root, which may be coded in it in any way; None when it is not there."""
    names, parts = root.split("/"), raw.split(b"/")
    if [unquote_to_bytes(part) for part in parts[: len(names)]] != [name.encode() for name in names]:
        return None
    return b"/" + b"/".join(parts[len(names) :])


async def read_body(request: Request, limit: int) -> bytes:
    """The request's body; no more than ``limit`` bytes are ever held.

    Raises RivetError ``message.incoming_too_long``, ``guard.request_timeout``, or ClientDisconnect.
    """
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or len(declared) > 15 or int(declared) > limit:
        raise _too_long(limit)
    try:
        async with asyncio.timeout(BODY_TIME):
            return await _read_stream(request, limit)
    except TimeoutError:
        raise RivetError(
            "guard", "request_timeout", f"The body took longer than {BODY_TIME:g} s to arrive.", status=408
        ) from None


async def _read_stream(request: Request, limit: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        if len(body) + len(chunk) > limit:
            raise _too_long(limit)
        body += chunk
    return bytes(body)


def outgoing_too_long(what: str, size: int, limit: int) -> RivetError:
    """Something that is too long to be sent to a client."""
    return RivetError(
        "message",
        "outgoing_too_long",
        f"{what} has {size} bytes; {limit} are allowed. Send less, or page it.",
        {"limit": limit},
    )


def _too_long(limit: int) -> RivetError:
    return RivetError(
        "message",
        "incoming_too_long",
        f"The body is longer than {limit} bytes; send less, or keep the data elsewhere and send where it is.",
        {"limit": limit},
    )


async def while_connected(receive: Receive, stopping: asyncio.Event, work: Coroutine[object, object, T]) -> T:
    """Await work that may take long; stop it when the client goes away or the engine stops.

    Raises ClientDisconnect, or RivetError ``guard.tunnel_response_closed`` when the engine stops. For use
    after the body was read: all that can still be received is the end.
    """
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(receive))
    stopped = asyncio.ensure_future(stopping.wait())
    tasks: list[asyncio.Future[object]] = [working, gone, stopped]  # type: ignore[list-item]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        if gone.done():
            raise ClientDisconnect
        raise cut_short()
    finally:
        await _end(tasks)


def cut_short() -> RivetError:
    """The engine stops and does not wait for the answer. Nobody may take it for work that was not done."""
    return RivetError(
        "guard",
        "tunnel_response_closed",
        "The engine stopped before the answer was there; the request may have run or may yet. "
        "A send with an idempotency key can be repeated safely.",
        status=503,
    )


async def _end(tasks: list[asyncio.Future[object]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def within(seconds: float | None, work: Awaitable[T]) -> T:
    """Await work for at most so long. Raises RivetError ``actor.action_timed_out``."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await work
    except TimeoutError:
        if not limit.expired():
            raise
        raise RivetError("actor", "action_timed_out", "Action timed out") from None
