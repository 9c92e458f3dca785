"""What carries a handle's requests: to an engine over HTTP, or to the host the code itself runs in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from rivetpy.client.calls import Call, Transport
from rivetpy.client.requests import ById, ByKey, Requests, Target
from rivetpy.wire.bodies import QueueReply, QueueSend
from rivetpy.wire.tags import Value

T = TypeVar("T")


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

    async def close(self) -> None:
        """Let go of connections."""
        ...


class Remote:
    """An engine somewhere."""

    def __init__(self, requests: Requests, transport: Transport) -> None:
        self._requests = requests
        self._transport = transport

    async def action(self, target: Target, name: str, args: Sequence[Value]) -> Value:
        return await self._run_at(target, lambda where: self._requests.action(where, name, args))

    async def send(self, target: Target, queue: str, message: QueueSend) -> QueueReply:
        return await self._run_at(target, lambda where: self._requests.send(where, queue, message))

    async def resolve(self, target: ByKey) -> str:
        return await self._transport.run(self._requests.resolve(target))

    async def create(self, target: ByKey) -> str:
        return await self._transport.run(self._requests.create(target))

    async def close(self) -> None:
        await self._transport.close()

    async def _run_at(self, target: Target, make: Callable[[Target], Call[T]]) -> T:
        """Keys that a URL can't carry (a comma in a part) are looked up first."""
        if isinstance(target, ByKey) and not target.fits_url:
            target = ById(await self.resolve(target))
        return await self._transport.run(make(target))
