"""Connections of the client without an engine: lines whose other end is the test."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from rivetpy.client.connection import Connection
from rivetpy.client.reconnect import Backoff
from rivetpy.client.requests import ByKey, Target
from rivetpy.errors import EncodeError, RivetError
from rivetpy.wire.messages import Init, SubscriptionRequest, ToClient, ToServer

LOST = RivetError("client", "connection_lost", "gone")
FAILED = RivetError("client", "connection_failed", "nobody there")


class ScriptLine:
    """One open line: what was sent over it, and what the test has it receive."""

    def __init__(self, *, silent: bool = False) -> None:
        self.sent: list[ToServer] = []
        self.closed = False
        self._incoming: asyncio.Queue[ToClient | RivetError] = asyncio.Queue()
        if not silent:
            self.tell(Init("actor-id", "connection-id"))

    def tell(self, message: ToClient | RivetError) -> None:
        """Have it receive a message, or break."""
        self._incoming.put_nowait(message)

    async def send(self, message: ToServer) -> None:
        if not isinstance(message, SubscriptionRequest) and message.args == ["unwritable"]:
            raise EncodeError("$.args[0]", "can't be written")
        self.sent.append(message)

    async def receive(self) -> ToClient:
        message = await self._incoming.get()
        if isinstance(message, RivetError):
            raise message
        return message

    async def close(self) -> None:
        self.closed = True


class Dialling:
    """A backend that opens the lines of a script, one after the other; the last entry again and again."""

    def __init__(self, *script: ScriptLine | RivetError) -> None:
        self._script = list(script)
        #: When it was asked, in seconds from the beginning, and with which parameters.
        self.times: list[float] = []
        self.params: list[Any] = []
        self._began = asyncio.get_running_loop().time()

    async def dial(self, target: Target) -> ScriptLine:
        self.times.append(asyncio.get_running_loop().time() - self._began)
        self.params.append(target.params)
        entry = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(entry, RivetError):
            raise entry
        return entry


@contextlib.asynccontextmanager
async def connected(
    *script: ScriptLine | RivetError, target: Target | None = None, params: Any = None
) -> AsyncIterator[tuple[Connection, Dialling]]:
    """A connection over the lines of a script, with pauses that are not shortened by chance."""
    dialling = Dialling(*script)
    connection = Connection(
        dialling,  # type: ignore[arg-type]  # all that a connection without queues asks of a backend
        target or ByKey("counter", ("main",)),
        params,
        lambda _: None,
        Backoff(lambda: 0),
    )
    try:
        yield connection, dialling
    finally:
        await connection.close()


async def turns() -> None:
    """Let everything happen that needs no time."""
    for _ in range(20):
        await asyncio.sleep(0)
