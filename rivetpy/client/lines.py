"""A connection to an actor as messages go over it: `Line`, and the one over a WebSocket (wire 7)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from rivetpy.client.calls import Dial, connection_lost, raise_not_connected
from rivetpy.client.endpoint import Endpoint
from rivetpy.errors import RivetError
from rivetpy.wire.encodings import UNREADABLE, Encoding
from rivetpy.wire.messages import TO_CLIENT, TO_SERVER, ToClient, ToServer

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection
    from websockets.exceptions import ConnectionClosed

#: Seconds. An engine finishes the handshake once the actor is there, which may take its time.
OPEN_TIMEOUT = 45.0
CLOSE_TIMEOUT = 5.0
#: Bytes of one message from the server.
MAX_MESSAGE = 32 * 1024 * 1024


class Line(Protocol):
    """An open connection. When it ends, `send` and `receive` raise the RivetError that it ended with."""

    async def send(self, message: ToServer) -> None:
        """Send a message. Raises also `EncodeError`, when nothing was sent."""
        ...

    async def receive(self) -> ToClient:
        """The next message."""
        ...

    async def close(self) -> None:
        """Close it; returns when the other side knows."""
        ...


class WebSocketLine:
    """The line over an open WebSocket."""

    def __init__(self, socket: ClientConnection, encoding: Encoding, endpoint: Endpoint) -> None:
        self._socket = socket
        self._encoding = encoding
        self._endpoint = endpoint

    async def send(self, message: ToServer) -> None:
        from websockets.exceptions import ConnectionClosed

        data = self._encoding.write_union(TO_SERVER, message)
        try:
            await self._socket.send(data.decode() if self._encoding.is_text else data)
        except ConnectionClosed as error:
            raise _ending(error, self._endpoint) from None

    async def receive(self) -> ToClient:
        from websockets.exceptions import ConnectionClosed

        try:
            data = await self._socket.recv()
        except ConnectionClosed as error:
            raise _ending(error, self._endpoint) from None
        try:
            return self._encoding.read_union(TO_CLIENT, data.encode() if isinstance(data, str) else data)
        except UNREADABLE as error:
            raise RivetError(
                "client",
                "unreadable_answer",
                f"The engine at {self._endpoint.url} sent what is no message: {error}",
            ) from error

    async def close(self) -> None:
        # Its answer comes behind what it sent before, of which only so much is read ahead.
        reading = asyncio.create_task(self._read_on())
        try:
            await self._socket.close(1000, "Disposed")
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _read_on(self) -> None:
        async for _ in self._socket:
            pass


def _ending(error: ConnectionClosed, endpoint: Endpoint) -> RivetError:
    """What a close frame names as ``group.code#ray``; else the connection is lost."""
    received = error.rcvd
    name, _, ray_id = (received.reason if received else "").partition("#")
    group, dot, code = name.partition(".")
    if not (group and dot and code):
        return connection_lost(endpoint, _shown(error))
    ended = RivetError(group, code, f"The engine at {endpoint.url} closed the connection: {name}.")
    ended.ray_id = ray_id or None
    return ended


def _shown(error: ConnectionClosed) -> str:
    if error.rcvd is None:
        return "no close frame"
    return f"close code {error.rcvd.code} {error.rcvd.reason}".rstrip()


async def open_websocket(endpoint: Endpoint, dial: Dial) -> ClientConnection:
    """The open WebSocket.

    Raises RivetError ``client.connection_failed`` when nobody answers, ``client.connection_refused`` when who does
    wants no WebSocket.
    """
    from websockets.asyncio.client import connect
    from websockets.exceptions import InvalidHandshake, InvalidStatus
    from websockets.typing import Subprotocol

    scheme = "wss" if endpoint.scheme == "https" else "ws"
    try:
        return await connect(
            f"{scheme}://{endpoint.authority}{dial.path}",
            subprotocols=[Subprotocol(name) for name in dial.subprotocols],
            additional_headers=dial.headers,
            user_agent_header=None,
            compression=None,
            proxy=None,
            open_timeout=OPEN_TIMEOUT,
            close_timeout=CLOSE_TIMEOUT,
            max_size=MAX_MESSAGE,
        )
    except InvalidStatus as error:
        status = error.response.status_code
        if status >= 500:
            raise_not_connected(endpoint, f"HTTP status {status}")
        raise RivetError(
            "client",
            "connection_refused",
            f"What answers at {endpoint.url} opens no WebSocket (HTTP status {status}).",
        ) from None
    except (OSError, InvalidHandshake) as error:
        raise_not_connected(endpoint, str(error) or type(error).__name__)
