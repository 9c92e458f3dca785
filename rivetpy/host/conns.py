"""The connections of one actor: what its code sees of them, and events on their way out (spec actors 2)."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rivetpy import codec
from rivetpy.actors import ActorDefinition
from rivetpy.codec import Value
from rivetpy.errors import RivetError, did_you_mean
from rivetpy.host.view import ConnectionView


@dataclass(frozen=True, slots=True)
class Event:
    """An event for a client. One value for all its receivers: ``args`` is to be read only."""

    name: str
    args: Sequence[Value]


@dataclass(frozen=True, slots=True)
class Closed:
    """The connection is over; nothing follows. ``code`` is a WebSocket's: 1000 when the actor's code asked for it."""

    reason: str
    code: int = 1000


Outgoing = Event | Closed
#: Carries what goes to a client. Never blocks and never raises: whoever is too slow is cut off there.
Outlet = Callable[[Outgoing], None]


class Conn:
    """One client's connection, as the actor's code sees it."""

    def __init__(self, params: Value, outlet: Outlet, definition: ActorDefinition) -> None:
        #: What the client said when it connected.
        self.params = params
        #: Anything the actor wants to know of this connection; lives as long as the connection does.
        self.state: Value = None
        self.subscriptions: set[str] = set()
        #: Called once, when the actor's code ended the connection.
        self.on_disconnect: Callable[[], object] = lambda: None
        self.open = True
        #: Whether it stays until the client leaves, also while the actor sleeps.
        self.lasting = False
        self._outlet = outlet
        self._definition = definition

    @functools.cached_property
    def id(self) -> str:
        """Random and opaque, a UUID. Most connections last one call, and nobody asks for theirs."""
        return str(uuid.uuid4())

    def __repr__(self) -> str:
        return f"Conn(id={self.id!r}, params={self.params!r})"

    def send(self, event: str, /, *args: Value) -> None:
        """Send an event to this client, subscribed or not. Raises RivetError ``event.…`` or `EncodeError`."""
        self.put(outgoing(self._definition, event, args))

    def disconnect(self, reason: str = "actor.disconnected") -> None:
        """End the connection; the client is told the reason."""
        if self.close(Closed(reason)):
            self.on_disconnect()

    def put(self, event: Event) -> None:
        """Hand an event out, unless the connection is over."""
        if self.open:
            self._outlet(event)

    def close(self, end: Closed) -> bool:
        """Say that it is over, once; whether it was not before."""
        if not self.open:
            return False
        self.open = False
        self._outlet(end)
        return True


class Conns:
    """All connections of one actor. It outlives the actor's sleep: clients stay connected meanwhile."""

    def __init__(self, definition: ActorDefinition) -> None:
        #: Called when somebody came, went, or wants other events.
        self.on_change: Callable[[], None] = lambda: None
        self._definition = definition
        self._all: dict[Conn, None] = {}

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Conn]:
        return iter(list(self._all))

    def by_id(self) -> dict[str, Conn]:
        """The connections by id; a copy."""
        return {conn.id: conn for conn in self._all}

    def view(self) -> tuple[ConnectionView, ...]:
        """Who is connected."""
        return tuple(
            ConnectionView(conn.id, conn.params, conn.state, len(conn.subscriptions), conn.lasting)
            for conn in self._all
        )

    def add(self, conn: Conn) -> None:
        """A connection was made."""
        self._all[conn] = None
        self.on_change()

    def remove(self, conn: Conn) -> bool:
        """A connection is over; False when that was known."""
        conn.open = False
        there = conn in self._all
        self._all.pop(conn, None)
        if there:
            self.on_change()
        return there

    def broadcast(self, event: str, args: Sequence[Value]) -> None:
        """Send an event to everybody who subscribed to it."""
        self.deliver(self.event(event, args))

    def event(self, event: str, args: Sequence[Value]) -> Event:
        """The event as it will be sent. Raises RivetError ``event.not_declared``, ``event.invalid``, `EncodeError`."""
        return outgoing(self._definition, event, args)

    def deliver(self, event: Event) -> None:
        """Hand an event to its subscribers."""
        for conn in self:
            if event.name in conn.subscriptions:
                conn.put(event)


def outgoing(definition: ActorDefinition, event: str, args: Sequence[Value]) -> Event:
    """An event, checked and cut off from the objects it was made of."""
    check_declared(definition, event)
    plain = codec.reread(list(args))[1]
    if event in definition.events:
        definition.events[event].check(event, plain)
    return Event(event, plain)


def check_declared(definition: ActorDefinition, event: str) -> None:
    """Raises RivetError ``event.not_declared``; an actor that declares no events at all may use any name."""
    if definition.events and event not in definition.events:
        raise RivetError(
            "event",
            "not_declared",
            f"The actor declares no event {event!r}. {did_you_mean(event, definition.events)}",
            {"event": event, "events": sorted(definition.events)},
            400,
        )
