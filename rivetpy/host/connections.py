"""Connecting to an actor and leaving it, with the hooks of both; what the gateway holds of a connection."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from rivetpy import codec
from rivetpy.channels import Permission
from rivetpy.codec import Value
from rivetpy.errors import RivetError
from rivetpy.host import lifecycle
from rivetpy.host.actions import perform
from rivetpy.host.conns import Closed, Conn, Conns, Event, Outgoing, Outlet, check_declared
from rivetpy.host.context import ActorContext
from rivetpy.host.parts import Parts

if TYPE_CHECKING:
    from rivetpy.host.instance import Instance

__all__ = ["Closed", "Connection", "Event", "Outgoing", "Outlet"]

Reach = Callable[[str], AbstractAsyncContextManager["Instance"]]


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


async def connect(parts: Parts, params: Value, outlet: Outlet) -> Conn:
    """Make a connection: on_before_connect, create_conn_state, on_connect. Raises what they raise."""
    definition = parts.core.definition
    plain = None if params is None else codec.reread(params)[1]
    conn = Conn(plain, outlet, definition)
    await lifecycle.hook(parts, "on_before_connect", plain, conn=conn, limit="on_connect_timeout")
    if "create_conn_state" in definition.hooks:
        conn.state = await lifecycle.hook(
            parts, "create_conn_state", plain, conn=conn, limit="create_conn_state_timeout"
        )
    elif definition.conn_state is not None:
        conn.state = copy.deepcopy(definition.conn_state)
    parts.conns.add(conn)
    try:
        await lifecycle.hook(parts, "on_connect", conn, conn=conn, limit="on_connect_timeout")
    except BaseException:
        parts.conns.remove(conn)
        raise
    return conn


async def leave(parts: Parts, conn: Conn) -> None:
    """End a connection: on_disconnect, whose failure is reported and changes nothing."""
    if parts.conns.remove(conn):
        try:
            await lifecycle.hook(parts, "on_disconnect", conn, conn=conn, limit="on_connect_timeout")
        except Exception as error:
            parts.failed("on_disconnect", error)


async def leave_all(parts: Parts, end: Closed) -> None:
    """End every connection of an actor that goes for good."""
    for conn in parts.conns:
        conn.close(end)
        await leave(parts, conn)


@contextlib.asynccontextmanager
async def passing(parts: Parts, params: Value) -> AsyncIterator[Conn]:
    """The connection of one request (wire 6)."""
    conn = await connect(parts, params, lambda outgoing: None)
    try:
        yield conn
    finally:
        await leave(parts, conn)


async def permit(parts: Parts, conn: Conn, permission: Permission | None, what: str) -> None:
    """Raises RivetError ``auth.forbidden`` when the actor's function does not say yes."""
    if permission is None:
        return
    if not await perform(parts.core, ActorContext(parts, conn), "a permission", permission, ()):
        raise RivetError("auth", "forbidden", f"This connection may not {what}.")
