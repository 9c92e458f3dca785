"""The client for code without asyncio: twins of its objects, whose methods wait for those of the originals.

Every method is made of the original, so both have the same options, texts and types.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, ParamSpec, Self, TypeVar

from rivetpy.client import create_client
from rivetpy.client.connection import Connection
from rivetpy.client.handles import Actors, Client, Handle, choose_one
from rivetpy.client.listeners import Events, Listener, Stop
from rivetpy.client.portal import Aside, Portal
from rivetpy.client.reconnect import Status
from rivetpy.client.twin import Twin, leading_to, waiting, waiting_for
from rivetpy.errors import RivetError
from rivetpy.wire.messages import Event
from rivetpy.wire.tags import Value

if TYPE_CHECKING:
    import httpx

    from rivetpy.client.syncsocket import SyncWebSocket

R = TypeVar("R")
P = ParamSpec("P")


class SyncEvents(Twin[Events]):
    """Events of a connection as they come: ``for event in conn.events("said")``; see `Events`."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        try:
            return self._wait(self._original.__anext__)
        except StopAsyncIteration:
            raise StopIteration from None

    def close(self) -> None:
        """Listen no more; what came already can still be read."""
        self._wait(_later(self._original.close))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SyncConnection(Twin[Connection]):
    """An open connection; see `Connection`.

    Listeners are called one after the other in a thread of the connection's own, where they may wait for actions.
    """

    def __init__(self, portal: Portal, original: Connection) -> None:
        super().__init__(portal, original)
        self._generation = portal.generation
        self._aside: Aside | None = None

    action = waiting(Connection.action)
    send = waiting(Connection.send)
    resolve = waiting(Connection.resolve)
    opened = waiting(Connection.opened)

    def __getattr__(self, name: str) -> Callable[..., Value]:
        if name.startswith("_"):
            raise AttributeError(name)
        return functools.partial(self.action, name)

    @property
    def status(self) -> Status:
        """As `Connection.status`."""
        return self._original.status

    @property
    def actor_id(self) -> str | None:
        """The actor's id, once it was open."""
        return self._original.actor_id

    def on(self, event: str, listener: Listener) -> Stop:
        """Have a function called with the arguments of each such event; what this returns ends that."""
        return self._listen(functools.partial(self._original.on, event), listener)

    def once(self, event: str, listener: Listener) -> Stop:
        """Have a function called with the arguments of the next such event."""
        return self._listen(functools.partial(self._original.once, event), listener)

    def on_open(self, listener: Listener) -> Stop:
        """As `Connection.on_open`."""
        return self._listen(self._original.on_open, listener)

    def on_close(self, listener: Listener) -> Stop:
        """As `Connection.on_close`."""
        return self._listen(self._original.on_close, listener)

    def on_error(self, listener: Listener) -> Stop:
        """As `Connection.on_error`."""
        return self._listen(self._original.on_error, listener)

    def on_status_change(self, listener: Listener) -> Stop:
        """As `Connection.on_status_change`."""
        return self._listen(self._original.on_status_change, listener)

    def events(self, *names: str) -> SyncEvents:
        """Events with these names, from now on, for ``for``."""
        return SyncEvents(self._portal, self._wait(_later(lambda: self._original.events(*names))))

    def close(self) -> None:
        """Close it for good. Actions that wait raise RivetError ``client.connection_closed``."""
        self._wait(self._original.close)

    def __enter__(self) -> Self:
        try:
            self.opened()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _listen(self, add: Callable[[Listener], Stop], listener: Listener) -> Stop:
        def begin() -> Stop:
            aside = self._aside = self._aside or self._new_aside()
            return add(lambda *args: aside.call(functools.partial(listener, *args)))

        stop = self._wait(_later(begin))
        return lambda: self._wait(_later(stop))

    def _new_aside(self) -> Aside:
        """A thread for the listeners, which ends once they have heard that the connection is closed."""
        aside = Aside()

        def changed(status: Status) -> None:
            if status == "closed":
                self._original.loop.call_soon(aside.end)

        self._original.on_status_change(changed)
        return aside

    def _wait(self, make: Callable[[], Awaitable[R]]) -> R:
        if self._generation != self._portal.generation:
            raise RivetError(
                "client", "forked", "This connection is the parent process's; open another one here."
            )
        return super()._wait(make)


def _answer(portal: Portal, answer: httpx.Response) -> httpx.Response:
    from rivetpy.client.answers import synchronous

    return synchronous(portal, answer)


class SyncHandle(Twin[Handle]):
    """One actor: its actions as methods, its queues through `send`; see `Handle`."""

    action = waiting(Handle.action)
    send = waiting(Handle.send)
    resolve = waiting(Handle.resolve)
    fetch = waiting_for(_answer, Handle.fetch)

    def __getattr__(self, name: str) -> Callable[..., Value]:
        if name.startswith("_"):
            raise AttributeError(name)
        return functools.partial(self.action, name)

    def connect(self) -> SyncConnection:
        """A connection to the actor, for events, and for many actions; see `SyncConnection`."""
        return SyncConnection(self._portal, self._wait(_later(self._original.connect)))

    def websocket(self, path: str = "/") -> SyncWebSocket:
        """An open WebSocket to the actor's ``on_websocket``; see `Handle.websocket`."""
        from rivetpy.client.syncsocket import SyncWebSocket

        return SyncWebSocket(self._portal, self._wait(lambda: self._original.websocket(path)))


class SyncActors(Twin[Actors]):
    """All actors of one name; see `Actors`."""

    get_or_create = leading_to(SyncHandle, Actors.get_or_create)
    get = leading_to(SyncHandle, Actors.get)
    get_for_id = leading_to(SyncHandle, Actors.get_for_id)
    create = waiting_for(SyncHandle, Actors.create)

    if not TYPE_CHECKING:  # where it is, this is an error already

        def __getattr__(self, attribute: str) -> NoReturn:
            raise choose_one(attribute)


class SyncClient(Twin[Client]):
    """A client of one engine for code without asyncio; any number of threads may use it.

    Use it as ``with create_sync_client(…) as client``, or `close` it. After a fork, both processes may go on; a
    connection stays with the one that opened it.
    """

    actor = leading_to(SyncActors, Client.actor)

    def __getattr__(self, name: str) -> SyncActors:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.actor(name)

    def close(self) -> None:
        """Close all connections. Calls of other threads, and later ones, raise RivetError ``client.closed``."""
        self._portal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _later(function: Callable[[], R]) -> Callable[[], Awaitable[R]]:
    """A function to be called in the loop."""

    async def call() -> R:
        return function()

    return call


def _synchronous(make: Callable[P, Client]) -> Callable[P, SyncClient]:
    @functools.wraps(make)
    def create(*args: P.args, **options: P.kwargs) -> SyncClient:
        client = make(*args, **options)
        return SyncClient(Portal(client.close), client)

    return create


create_sync_client = _synchronous(create_client)
