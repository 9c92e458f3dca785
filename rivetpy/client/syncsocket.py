"""The synchronous twin of a raw WebSocket."""

from __future__ import annotations

from typing import Self

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosedOK

from rivetpy.client.twin import Twin, waiting


class SyncWebSocket(Twin[ClientConnection]):
    """An open WebSocket: `send` and `recv` as the websockets library has them, and ``for message in ws``."""

    send = waiting(ClientConnection.send)

    def close(self, code: int = 1000, reason: str = "") -> None:
        """Close it, and wait until the other side has."""
        self._wait(lambda: self._original.close(code, reason))

    def recv(self) -> str | bytes:
        """The next message. Raises the library's ConnectionClosed."""
        return self._wait(self._original.recv)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str | bytes:
        try:
            return self.recv()
        except ConnectionClosedOK:
            raise StopIteration from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
