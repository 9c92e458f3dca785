"""A client's connection as the gateway holds it: what it asks for reaches the actor, awake or not."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from rivetpy.codec import Value
from rivetpy.errors import RivetError
from rivetpy.host.connecting import leave, permit
from rivetpy.host.conns import Closed, Conn, Conns, Event, Outgoing, Outlet, check_declared
from rivetpy.host.instance import Instance

__all__ = ["Closed", "Connection", "Event", "Outgoing", "Outlet"]

Reach = Callable[[str], AbstractAsyncContextManager[Instance]]


class Connection:
    """A client's connection to an actor. It stays while the actor sleeps; whatever it asks for wakes the actor."""

    def __init__(self, actor_id: str, conn: Conn, conns: Conns, reach: Reach) -> None:
        self._actor_id = actor_id
        self._conn = conn
        self._conns = conns  # what the actor finds its connections in again after its sleep
        self._reach = reach

    @property
    def id(self) -> str:
        """Random, a UUID."""
        return self._conn.id

    @property
    def params(self) -> Value:
        """What the client said when it connected."""
        return self._conn.params

    @property
    def state(self) -> Value:
        """What the actor keeps about it."""
        return self._conn.state

    async def call(self, action: str, args: list[Value]) -> Value:
        """Run an action; see `Host.call`."""
        async with self._reach(self._actor_id) as instance:
            return await instance.call(action, args, self._conn)

    async def subscribe(self, event: str, subscribe: bool = True) -> None:
        """Begin to get an event, or stop. Raises RivetError ``event.not_declared``, ``auth.forbidden``."""
        if not subscribe:
            self._conn.subscriptions.discard(event)
            self._conns.on_change()
            return
        async with self._reach(self._actor_id) as instance:
            check_declared(instance.core.definition, event)
            declared = instance.core.definition.events.get(event)
            if declared is not None:
                await permit(instance.parts, self._conn, declared.can_subscribe, f"subscribe to {event!r}")
            self._conn.subscriptions.add(event)
            self._conns.on_change()

    async def close(self) -> None:
        """The client is gone. Safe to call more than once, and when the actor is no more."""
        self._conn.open = False
        with contextlib.suppress(RivetError):  # the actor is gone, or the engine stops
            async with self._reach(self._actor_id) as instance:
                await leave(instance.parts, self._conn)
