"""Connecting to an actor and leaving it, with the hooks of both; what a connection may do."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import AsyncIterator

from rivetpy import codec
from rivetpy.channels import Permission
from rivetpy.codec import Value
from rivetpy.errors import RivetError
from rivetpy.host import lifecycle
from rivetpy.host.actions import perform
from rivetpy.host.conns import Closed, Conn, Outlet
from rivetpy.host.context import ActorContext
from rivetpy.host.parts import Parts


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
