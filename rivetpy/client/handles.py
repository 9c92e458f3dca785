"""What users hold: a client, its actors by name, and handles whose methods are the actor's actions."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType

from rivetpy.client.backend import Backend
from rivetpy.client.requests import ById, ByKey, Target
from rivetpy.errors import RivetError
from rivetpy.identity import key_of
from rivetpy.wire.bodies import QueueReply, QueueSend
from rivetpy.wire.jsonvalue import Value


class Client:
    """A client of one engine; ``client.<actor>`` (or `actor`, for any name) leads to the actors.

    Use it as ``async with create_client(…) as client``, or `close` it.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Actors:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.actor(name)

    def actor(self, name: str) -> Actors:
        """The actors of this name."""
        return Actors(self, name)

    async def close(self) -> None:
        """Close all connections."""
        await self._backend.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Actors:
    """All actors of one name. Nothing here talks to the engine but `create`."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self.name = name

    def get_or_create(self, key: str | Sequence[str] = (), *, input: Value = None) -> Handle:
        """The actor with this key; its first request makes it, with ``input``, when it isn't there."""
        return Handle(self._client, ByKey(self.name, key_of(key), create=True, input=input))

    def get(self, key: str | Sequence[str] = ()) -> Handle:
        """The actor with this key; requests raise ``actor.not_found`` while it isn't there."""
        return Handle(self._client, ByKey(self.name, key_of(key), create=False))

    def get_for_id(self, actor_id: str) -> Handle:
        """The actor with this id."""
        return Handle(self._client, ById(actor_id))

    async def create(self, key: str | Sequence[str] = (), *, input: Value = None) -> Handle:
        """Make the actor now. Raises RivetError ``actor.duplicate_key`` when it exists."""
        target = ByKey(self.name, key_of(key), create=True, input=input)
        return self.get_for_id(await self._client._backend.create(target))


class Handle:
    """One actor: its actions as methods, its queues through `send`.

    An action whose name is taken here (``send``, ``resolve`` …) is called with `action`.
    """

    def __init__(self, client: Client, target: Target) -> None:
        self._client = client
        self._target = target

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Value]]:
        if name.startswith("_"):
            raise AttributeError(name)
        return functools.partial(self.action, name)

    async def action(self, name: str, /, *args: Value) -> Value:
        """Call an action and return what it returned. Raises the RivetError it failed with."""
        return await self._client._backend.action(self._target, name, args)

    async def send(
        self,
        queue: str,
        body: Value = None,
        *,
        wait: bool = False,
        timeout: float | dt.timedelta | None = None,
        idempotency_key: str | None = None,
    ) -> QueueReply | None:
        """Put a message into a queue; it is durable when this returns.

        With ``wait`` the answer is how it ended: ``completed`` with the response, or ``timedOut`` after
        ``timeout`` seconds. A second send with the same ``idempotency_key`` enqueues nothing.
        """
        message = QueueSend(body, wait, _seconds(timeout), idempotency_key)
        reply = await self._client._backend.send(self._target, queue, message)
        return reply if wait else None

    async def resolve(self) -> str:
        """The actor's id. Raises RivetError ``actor.not_found`` for a `Actors.get` of nothing."""
        target = self._target
        if isinstance(target, ById):
            return target.actor_id
        return await self._client._backend.resolve(target)


def _seconds(timeout: float | dt.timedelta | None) -> float | None:
    if timeout is None:
        return None
    from rivetpy.workflow.duration import milliseconds

    return milliseconds(timeout, "timeout") / 1000


def check_encoding(encoding: str) -> None:
    """Raises RivetError ``client.unknown_encoding``."""
    if encoding != "json":
        raise RivetError(
            "client",
            "unknown_encoding",
            f"The encoding {encoding!r} is not available; use 'json'.",
            status=400,
        )
