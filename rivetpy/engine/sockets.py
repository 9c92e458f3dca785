"""WebSockets over ASGI: always accepted, so that the reason of a refusal arrives; bounded in both directions."""

from __future__ import annotations

import asyncio
from collections import deque

from starlette.types import Message, Receive, Send

from rivetpy.errors import RivetError
from rivetpy.wire.handshake import SUBPROTOCOL

#: Bytes of a close frame's reason.
MAX_REASON = 123
#: Bytes that may wait for a client that does not read.
MAX_BEHIND = 4 * 1024 * 1024

NORMAL, PROTOCOL, BAD_DATA, POLICY, FAILED = 1000, 1002, 1003, 1008, 1011


class Gone(Exception):
    """The client closed the socket, or it broke."""


class TooLong(Exception):
    """A message longer than allowed."""


class Socket:
    """One accepted WebSocket."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._closed = False

    async def accept(self) -> None:
        """Finish the handshake. Raises `Gone`."""
        await self._next("websocket.connect")
        await self._put({"type": "websocket.accept", "subprotocol": SUBPROTOCOL})

    async def receive(self, limit: int) -> bytes:
        """The next message, text as UTF-8. Raises `Gone`, `TooLong`."""
        message = await self._next("websocket.receive")
        data = message.get("bytes")
        if data is None:
            data = message["text"].encode("utf-8", "surrogatepass")
        if len(data) > limit:
            raise TooLong
        return bytes(data)

    async def send(self, data: bytes, *, text: bool) -> None:
        """Send one message. Raises `Gone`."""
        part: Message = {"text": data.decode()} if text else {"bytes": data}
        await self._put({"type": "websocket.send", **part})

    async def close(self, code: int, reason: str) -> None:
        """Close, once; the client's answer ends `receive`."""
        if not self._closed:
            self._closed = True
            try:
                await self._put({"type": "websocket.close", "code": code, "reason": cut(reason)})
            except Gone:
                return

    async def receive_message(self) -> Message:
        """The next ASGI message, for whoever reads the socket itself."""
        message = await self._receive()
        self._closed = self._closed or message["type"] == "websocket.disconnect"
        return message

    async def send_message(self, message: Message) -> None:
        """Send an ASGI message, for whoever writes the socket itself. Raises OSError when nobody is there."""
        if message["type"] == "websocket.close":
            await self.close(message.get("code", NORMAL), message.get("reason") or "")
        elif not self._closed:
            await self._send(message)

    async def _next(self, kind: str) -> Message:
        message = await self._receive()
        if message["type"] != kind:
            self._closed = True
            raise Gone
        return message

    async def _put(self, message: Message) -> None:
        try:
            await self._send(message)
        except (OSError, RuntimeError) as error:  # how servers say that nobody is there any more
            self._closed = True
            raise Gone from error


def cut(reason: str) -> str:
    """A reason that fits a close frame."""
    return reason.encode()[:MAX_REASON].decode("utf-8", "ignore")


def reason_of(error: RivetError, ray_id: str) -> str:
    """How a close frame names an error: clients split it at the marks."""
    return f"{error.group}.{error.code}#{ray_id}"


class Outbox:
    """What waits to be sent, in order. `put` never blocks: a client that lags too far behind is let go."""

    def __init__(self, socket: Socket, *, text: bool) -> None:
        self._socket = socket
        self._text = text
        self._waiting: deque[bytes] = deque()
        self._behind = 0
        self._end: tuple[int, str] | None = None
        self._news = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None

    def start(self) -> asyncio.Task[None]:
        """Begin to send. The task ends when the socket is closed or gone."""
        self._sending = asyncio.create_task(self._run())
        return self._sending

    def abandon(self) -> None:
        """Nobody is there to send to."""
        self._waiting.clear()
        self._end = self._end or (FAILED, "")
        if self._sending is not None:
            self._sending.cancel()

    def put(self, data: bytes, *, first: bool = False) -> None:
        """Send this after what waits already, or ``first``."""
        if self._end is not None:
            return
        self._behind += len(data)
        if self._behind > MAX_BEHIND:
            self.abandon()
            return
        if first:
            self._waiting.appendleft(data)
        else:
            self._waiting.append(data)
        self._news.set()

    def close(self, code: int, reason: str) -> None:
        """Close after what waits already; nothing can follow."""
        if self._end is None:
            self._end = (code, reason)
            self._news.set()

    async def _run(self) -> None:
        try:
            while self._waiting or self._end is None:
                if not self._waiting:
                    self._news.clear()
                    await self._news.wait()
                    continue
                data = self._waiting.popleft()
                await self._socket.send(data, text=self._text)
                self._behind -= len(data)
        except Gone:
            return
        await self._socket.close(*self._end)
