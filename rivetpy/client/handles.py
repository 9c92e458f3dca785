"""What users hold: a client, its actors by name, and handles whose methods are the actor's actions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn, Self

from rivetpy.client.addressee import Addressee, Params
from rivetpy.client.backend import Backend
from rivetpy.client.connection import Connection
from rivetpy.client.requests import ById, ByKey, Target
from rivetpy.identity import key_of
from rivetpy.wire.tags import Value

if TYPE_CHECKING:
    import httpx
    from websockets.asyncio.client import ClientConnection

    from rivetpy.client.answers import Content


class Client:
    """A client of one engine; ``client.<actor>`` (or `actor`, for any name) leads to the actors.

    Use it as ``async with create_client(…) as client``, or `close` it.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._connections: set[Connection] = set()

    def __getattr__(self, name: str) -> Actors:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.actor(name)

    def actor(self, name: str) -> Actors:
        """The actors of this name."""
        return Actors(self, name)

    async def close(self) -> None:
        """Close all connections; those that a parent process or another loop opened are theirs."""
        loop = asyncio.get_running_loop()
        ours = [connection for connection in self._connections if connection.loop is loop]
        await asyncio.gather(*(connection.close() for connection in ours))
        await self._backend.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Actors:
    """All actors of one name. Nothing here talks to the engine but `create`.

    ``params`` are what the actor's hooks are told of whoever calls: plain JSON, or a function (also async) that is
    asked for them before each call and each time a connection is opened.
    """

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self.name = name

    def get_or_create(
        self, key: str | Sequence[str] = (), *, input: Value = None, params: Params = None
    ) -> Handle:
        """The actor with this key; its first request makes it, with ``input``, when it isn't there."""
        return Handle(self._client, ByKey(self.name, key_of(key), create=True, input=input), params)

    def get(self, key: str | Sequence[str] = (), *, params: Params = None) -> Handle:
        """The actor with this key; requests raise ``actor.not_found`` while it isn't there."""
        return Handle(self._client, ByKey(self.name, key_of(key), create=False), params)

    def get_for_id(self, actor_id: str, *, params: Params = None) -> Handle:
        """The actor with this id."""
        return Handle(self._client, ById(actor_id), params)

    async def create(
        self, key: str | Sequence[str] = (), *, input: Value = None, params: Params = None
    ) -> Handle:
        """Make the actor now. Raises RivetError ``actor.duplicate_key`` when it exists."""
        target = ByKey(self.name, key_of(key), create=True, input=input)
        return self.get_for_id(await self._client._backend.create(target), params=params)

    if not TYPE_CHECKING:  # where it is, this is an error already

        def __getattr__(self, attribute: str) -> NoReturn:
            raise choose_one(attribute)


def choose_one(attribute: str) -> AttributeError:
    """The error of whoever forgot the key: an action, a queue or a connection is one actor's."""
    return AttributeError(
        f"{attribute!r} is not of all actors of a name. Choose one: .get_or_create(key).{attribute}"
    )


class Handle(Addressee):
    """One actor: its actions as methods, its queues through `send`.

    An action whose name is taken here (``send``, ``resolve`` …) is called with `action`.
    """

    def __init__(self, client: Client, target: Target, params: Params = None) -> None:
        super().__init__(client._backend, target, params)
        self._client = client

    async def action(self, name: str, /, *args: Value) -> Value:
        """Call an action and return what it returned. Raises the RivetError it failed with."""
        return await self._backend.action(await self._aimed(), name, args)

    def connect(self) -> Connection:
        """A connection to the actor, for events, and for many actions; see `Connection`."""
        connections = self._client._connections
        connection = Connection(self._backend, self._target, self._params, connections.discard)
        connections.add(connection)
        return connection

    async def fetch(
        self,
        path: str,
        method: str = "GET",
        *,
        headers: Mapping[str, str] | None = None,
        content: Content = None,
        json: object = None,
        stream: bool = False,
    ) -> httpx.Response:
        """Send an HTTP request to the actor's ``on_request``; ``path`` may have a query.

        Any answer of the actor is returned, whatever its status. ``content`` in parts is sent as it comes, and never
        twice. With ``stream`` the answer is returned when it begins, its body unread (``aiter_bytes``): close it with
        ``aclose``. Raises RivetError when the actor was not reached.
        """
        import httpx

        from rivetpy.client.answers import body_of, unread

        whole, parts = body_of(content)
        request = httpx.Request(method, "http://actor/", headers=headers, content=whole, json=json)
        answer = unread(await self._backend.fetch(await self._aimed(), path, request, parts), request)
        if not stream:
            try:
                await answer.aread()
            finally:
                await answer.aclose()
        return answer

    async def websocket(self, path: str = "/") -> ClientConnection:
        """An open WebSocket to the actor's ``on_websocket``, as the websockets library has it.

        It breaks like any other. The actor sees ``/websocket`` and then ``path``, which may have a query.
        """
        return await self._backend.websocket(await self._aimed(), path)
