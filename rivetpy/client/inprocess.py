"""The transport of tests: calls an engine's ASGI application in this process, without a network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from typing import TYPE_CHECKING, TypeVar, cast

from rivetpy.client.calls import Call, Dial, OpenReply, RawCall, Reply, raise_lost
from rivetpy.client.endpoint import Endpoint
from rivetpy.client.insocket import Application, Event, InProcessSocket

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

T = TypeVar("T")


class InProcessTransport:
    """Carries calls to an application. Nothing is ever sent twice."""

    def __init__(self, endpoint: Endpoint, application: Application) -> None:
        self.endpoint = endpoint
        self._application = application

    async def run(self, call: Call[T]) -> T:
        """Make the call and return its result. Raises RivetError."""
        sent: list[Event] = []

        request: list[Event] = [{"type": "http.request", "body": call.body or b"", "more_body": False}]

        async def receive() -> Event:
            if not request:
                await asyncio.Event().wait()  # nobody hangs up
            return request.pop()

        async def send(event: Event) -> None:
            sent.append(event)

        try:
            await self._application(self._http(call), receive, send)
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            raise_lost(self.endpoint, "it was ended")  # nobody cancelled the caller: the engine died under it
        start = next(event for event in sent if event["type"] == "http.response.start")
        body = b"".join(event.get("body", b"") for event in sent if event["type"] == "http.response.body")
        return call.result(Reply(start["status"], _headers(start), body))

    async def stream(self, call: RawCall) -> OpenReply:
        """Make the call and return the answer as soon as it begins. Raises RivetError."""
        sent: asyncio.Queue[Event] = asyncio.Queue()
        request = _request(call.body or b"", call.parts)
        serving = asyncio.ensure_future(self._application(self._http(call), request.__anext__, sent.put))
        serving.add_done_callback(lambda _: sent.put_nowait({"type": "gone"}))

        async def close() -> None:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
            await request.aclose()

        async def parts() -> AsyncIterator[bytes]:
            while (event := await sent.get())["type"] == "http.response.body":
                yield event["body"]
            if serving.cancelled():
                raise_lost(self.endpoint, "it was ended")

        try:
            if (start := await sent.get())["type"] == "gone":
                if serving.cancelled():
                    raise_lost(self.endpoint, "it was ended")
                await serving  # which raises what it ended with
        except BaseException:
            await close()
            raise
        return await call.checked(OpenReply(start["status"], _headers(start), parts(), close))

    async def open(self, dial: Dial) -> ClientConnection:
        """Open a WebSocket."""
        scope = self._scope("websocket", dial.path, dial.headers) | {"subprotocols": list(dial.subprotocols)}
        socket = await InProcessSocket(self._application, scope).accepted()
        return cast("ClientConnection", socket)

    async def close(self) -> None:
        """Nothing to close."""

    def _http(self, call: Call[T]) -> dict[str, object]:
        scope = self._scope("http", call.path, call.headers)
        return scope | {"http_version": "1.1", "method": call.method, "scheme": self.endpoint.scheme}

    def _scope(self, kind: str, path: str, headers: Mapping[str, str]) -> dict[str, object]:
        path, _, query = path.partition("?")
        headers = {"host": self.endpoint.authority, **headers}
        return {
            "type": kind,
            "asgi": {"version": "3.0"},
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
        }


def _headers(start: Event) -> list[tuple[str, str]]:
    return [(name.decode().lower(), value.decode("latin-1")) for name, value in start["headers"]]


async def _request(body: bytes, parts: AsyncIterable[bytes] | None) -> AsyncGenerator[Event, None]:
    """What the application receives of a request: its body, and then nothing, since nobody hangs up."""
    if parts is not None:
        async for part in parts:
            yield {"type": "http.request", "body": part, "more_body": True}
    yield {"type": "http.request", "body": body, "more_body": False}
    await asyncio.Event().wait()
