"""A WebSocket client of an ASGI application, without a socket and without a server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette

from rivetpy.wire.encodings import Encoding, encoding_named
from rivetpy.wire.messages import (
    TO_CLIENT,
    TO_SERVER,
    ActionRequest,
    Failed,
    SubscriptionRequest,
    ToClient,
    ToServer,
)


class Closing(Exception):
    """The server closed the socket."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        #: ``group.code``, without the ray id.
        self.reason, _, self.ray_id = reason.partition("#")


class WebSocket:
    """One socket; `receive` raises `Closing`."""

    def __init__(self, app: Starlette, path: str, subprotocols: list[str], headers: dict[str, str]) -> None:
        path, _, query = path.partition("?")
        scope = {
            "type": "websocket",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(k.encode(), v.encode("latin-1")) for k, v in headers.items()],
            "subprotocols": subprotocols,
        }
        self._to_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._from_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._to_app.put_nowait({"type": "websocket.connect"})
        self.stuck = asyncio.Event()
        self.stuck.set()
        self.task = asyncio.create_task(app(scope, self._to_app.get, self._send))

    async def _send(self, message: Any) -> None:
        await self.stuck.wait()
        self._from_app.put_nowait(message)
        if message["type"] == "websocket.close":
            self._to_app.put_nowait({"type": "websocket.disconnect", "code": message["code"]})

    async def accepted(self) -> str:
        """The subprotocol that the server chose."""
        message = await asyncio.wait_for(self._from_app.get(), 100)
        assert message["type"] == "websocket.accept"
        return str(message["subprotocol"])

    async def receive(self) -> bytes | str:
        """The next frame."""
        message = await asyncio.wait_for(self._from_app.get(), 100)
        if message["type"] == "websocket.close":
            raise Closing(message["code"], message["reason"])
        assert message["type"] == "websocket.send"
        frame: bytes | str = message["bytes"] if "bytes" in message else message["text"]
        return frame

    def send(self, frame: bytes | str) -> None:
        """Send a frame."""
        kind = "text" if isinstance(frame, str) else "bytes"
        self._to_app.put_nowait({"type": "websocket.receive", kind: frame})

    async def close(self) -> None:
        """Close, and wait for the server's side to end."""
        self._to_app.put_nowait({"type": "websocket.disconnect", "code": 1000})
        await asyncio.wait_for(self.task, 100)

    def silent(self) -> bool:
        """Whether nothing came that was not received."""
        return self._from_app.empty()


class Talking(WebSocket):
    """A connection in one encoding, as an official client opens it."""

    def __init__(
        self, app: Starlette, path: str, encoding: str, params: str | None, headers: dict[str, str]
    ) -> None:
        subprotocols = ["rivet", f"rivet_encoding.{encoding}"]
        if params is not None:
            subprotocols.append(f"rivet_conn_params.{quote(params, safe='')}")
        super().__init__(app, path, subprotocols, headers)
        known = encoding_named(encoding)
        assert known is not None
        self.encoding: Encoding = known

    async def hear(self) -> ToClient:
        """The next message."""
        frame = await self.receive()
        assert isinstance(frame, str) == self.encoding.is_text
        return self.encoding.read_union(TO_CLIENT, frame.encode() if isinstance(frame, str) else frame)

    def say(self, message: ToServer) -> None:
        data = self.encoding.write_union(TO_SERVER, message)
        self.send(data.decode() if self.encoding.is_text else data)

    def call(self, id: int, name: str, *args: Any) -> None:
        self.say(ActionRequest(id, name, list(args)))

    def subscribe(self, event: str, subscribe: bool = True) -> None:
        self.say(SubscriptionRequest(event, subscribe))

    async def error(self) -> Failed:
        heard = await self.hear()
        assert isinstance(heard, Failed)
        return heard


@contextlib.asynccontextmanager
async def connecting(
    app: Starlette, path: str, encoding: str = "bare", params: str | None = None, **headers: str
) -> AsyncIterator[Talking]:
    """A connection whose handshake is done."""
    socket = Talking(app, path, encoding, params, {"host": "localhost", **headers})
    try:
        assert await socket.accepted() == "rivet"
        yield socket
        await socket.close()
    finally:
        socket.task.cancel()
        await asyncio.gather(socket.task, return_exceptions=True)
