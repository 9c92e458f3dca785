"""A WebSocket to an ASGI application in this process: what of the websockets library's own a connection needs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Self

from websockets.exceptions import ConnectionClosed, ConnectionClosedError, ConnectionClosedOK
from websockets.frames import Close

from rivetpy.codec import Value

Event = MutableMapping[str, Value]
Application = Callable[
    [Event, Callable[[], Awaitable[Event]], Callable[[Event], Awaitable[None]]], Awaitable[None]
]


class InProcessSocket:
    """Open once `accepted` returned."""

    def __init__(self, application: Application, scope: Event) -> None:
        self._to_app: asyncio.Queue[Event] = asyncio.Queue()
        self._from_app: asyncio.Queue[Event] = asyncio.Queue()
        self._ended: ConnectionClosed | None = None
        self._to_app.put_nowait({"type": "websocket.connect"})
        self._app = asyncio.ensure_future(application(scope, self._to_app.get, self._from_app.put))
        self._app.add_done_callback(lambda _: self._from_app.put_nowait({"type": "gone"}))

    async def accepted(self) -> Self:
        """Raises ConnectionClosed when the application does not want it."""
        if (await self._from_app.get())["type"] != "websocket.accept":
            raise ConnectionClosedError(None, None)
        return self

    async def recv(self) -> str | bytes:
        """The next message. Raises ConnectionClosed."""
        if self._ended is not None:
            raise self._ended
        event = await self._from_app.get()
        if event["type"] == "websocket.send":
            data = event.get("bytes")
            return str(event["text"]) if data is None else bytes(data)
        self._ended = _closed(event)
        self._to_app.put_nowait({"type": "websocket.disconnect", "code": event.get("code", 1006)})
        raise self._ended

    async def send(self, message: str | bytes) -> None:
        """Send a message. Raises ConnectionClosed."""
        if self._ended is not None:
            raise self._ended
        kind = "text" if isinstance(message, str) else "bytes"
        self._to_app.put_nowait({"type": "websocket.receive", kind: message})

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close it; returns when the application is done."""
        if self._ended is None:
            self._ended = ConnectionClosedOK(None, Close(code, reason))
            self._to_app.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        await asyncio.wait((self._app,))


def _closed(event: Event) -> ConnectionClosed:
    if event["type"] != "websocket.close":
        return ConnectionClosedError(None, None)
    close = Close(event.get("code", 1000), event.get("reason") or "")
    return (ConnectionClosedOK if close.code == 1000 else ConnectionClosedError)(close, close, True)
