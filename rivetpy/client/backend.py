"""What carries a handle's requests: to an engine over HTTP, or to the host the code itself runs in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from rivetpy.client.calls import OpenReply, Transport, raise_not_connected
from rivetpy.client.endpoint import Endpoint, followed
from rivetpy.client.insistence import Insistence
from rivetpy.client.lines import Line, WebSocketLine
from rivetpy.client.requests import ById, ByKey, Requests, Target
from rivetpy.errors import RivetError
from rivetpy.wire.bodies import KEEPS_KEYS, QueueReply, QueueSend
from rivetpy.wire.tags import Value

if TYPE_CHECKING:
    from httpx import Request
    from websockets.asyncio.client import ClientConnection


class Backend(Protocol):
    """Everything a client asks for. Errors are the RivetErrors the actor, or the way to it, answered with."""

    async def action(self, target: Target, name: str, args: Sequence[Value]) -> Value:
        """Call an action."""
        ...

    async def send(self, target: Target, queue: str, message: QueueSend) -> QueueReply:
        """Put a message into a queue."""
        ...

    async def resolve(self, target: ByKey) -> str:
        """The actor's id."""
        ...

    async def create(self, target: ByKey) -> str:
        """Make an actor that must not exist yet; its id."""
        ...

    async def dial(self, target: Target) -> Line:
        """Open a connection."""
        ...

    async def websocket(self, target: Target, path: str) -> ClientConnection:
        """Open a WebSocket that the actor itself serves."""
        ...

    async def fetch(
        self, target: Target, path: str, request: Request, parts: AsyncIterable[bytes] | None
    ) -> OpenReply:
        """Send a request that the actor itself answers; any answer of it is one, whatever its status.

        ``parts``, if given, are its body.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class Remote:
    """An engine somewhere.

    With ``open``, which makes a transport, the engine is asked first where its clients are to go (wire 2): a cloud
    has them talk to another address than the one in their settings.
    """

    def __init__(
        self, requests: Requests, transport: Transport, open: Callable[[Endpoint], Transport] | None = None
    ) -> None:
        self._requests = requests
        self._transport = transport
        #: Until the engine was asked.
        self._open = open
        self._knows_keys: bool | None = None

    async def action(self, target: Target, name: str, args: Sequence[Value]) -> Value:
        target = await self._in_url(target)
        return await self._transport.run(self._requests.action(target, name, args))

    async def send(self, target: Target, queue: str, message: QueueSend) -> QueueReply:
        target = await self._in_url(target)
        if message.wait and await self._keeps_keys():
            return await self._insist(target, queue, Insistence(message))
        return await self._transport.run(self._requests.send(target, queue, message))

    async def _insist(self, target: Target, queue: str, send: Insistence) -> QueueReply:
        while True:
            try:
                return await self._transport.run(self._requests.send(target, queue, send.message))
            except RivetError as error:
                pause = send.pause(error)
            await asyncio.sleep(pause)

    async def _keeps_keys(self) -> bool:
        """Whether a send can be repeated here. Asked once; an engine that does not say is not trusted with it."""
        if self._knows_keys is None:
            try:
                metadata = await self._transport.run(self._requests.metadata())
            except RivetError:
                return False
            self._knows_keys = metadata.get(KEEPS_KEYS) is True
        return self._knows_keys

    async def resolve(self, target: ByKey) -> str:
        await self._arrive()
        return await self._transport.run(self._requests.resolve(target))

    async def create(self, target: ByKey) -> str:
        await self._arrive()
        return await self._transport.run(self._requests.create(target))

    async def dial(self, target: Target) -> Line:
        target = await self._in_url(target)
        socket = await self._transport.open(self._requests.connect(target))
        return WebSocketLine(socket, self._requests.encoding, self._requests.endpoint)

    async def websocket(self, target: Target, path: str) -> ClientConnection:
        target = await self._in_url(target)
        return await self._transport.open(self._requests.websocket(target, path))

    async def fetch(
        self, target: Target, path: str, request: Request, parts: AsyncIterable[bytes] | None
    ) -> OpenReply:
        target = await self._in_url(target)
        return await self._transport.stream(self._requests.raw(target, path, request, parts))

    async def close(self) -> None:
        await self._transport.close()

    async def _in_url(self, target: Target) -> Target:
        """Keys that a URL can't carry (a comma in a part) are looked up first."""
        await self._arrive()
        if isinstance(target, ById) or target.fits_url:
            return target
        return ById(await self.resolve(target), target.params)

    async def _arrive(self) -> None:
        """Go where the engine sends its clients. First calls that come together each ask; the answer is the same."""
        if self._open is None:
            return
        to = await self._sent_to(self._open)
        open, self._open = self._open, None
        if to is not None and open is not None:
            self._transport, self._requests = open(to), self._requests.at(to)

    async def _sent_to(self, open: Callable[[Endpoint], Transport]) -> Endpoint | None:
        asking = open(self._requests.endpoint)
        try:
            told = await asking.run(self._requests.metadata())
        except RivetError as error:
            if error.group == "client" and error.code != "connection_lost":
                raise
            if 400 <= error.status < 500:  # it has no such page, or refuses us, which what follows will tell
                return None
            raise_not_connected(self._requests.endpoint, error.message)  # of the call itself nothing was sent
        finally:
            await asking.close()
        url = told.get("clientEndpoint")
        if not url:
            self._knows_keys = told.get(KEEPS_KEYS) is True
            return None
        token, namespace = told.get("clientToken"), told.get("clientNamespace")
        return followed(self._requests.endpoint, str(url), str(token or ""), str(namespace or ""))
