"""The functions an actor may give for the moments of its life, and what is wrong with one that can't work."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TypedDict, cast

from rivetpy.codec import Value
from rivetpy.errors import DefinitionError

#: ``def`` or ``async def``; its first argument is the actor's context ``c``.
Hook = Callable[..., Value]


class Hooks(TypedDict, total=False):
    """Every hook by name, in the order of an actor's life (spec actors 2)."""

    #: ``(c)`` before any other, at every wake, in one transaction of ``c.db``: create and change its tables.
    on_migrate: Hook
    #: ``(c)`` once: the actor is stored with what this does, or not at all when it raises.
    on_create: Hook
    #: ``(c)`` → the `vars` of this life: what can't be stored, or needn't.
    create_vars: Hook
    #: ``(c)`` at every wake, the first one included.
    on_wake: Hook
    #: ``(c)`` before the actor leaves memory, within ``sleep_grace_period``.
    on_sleep: Hook
    #: ``(c)`` before everything stored is forgotten.
    on_destroy: Hook
    #: ``(c, state)`` after a changed state became durable. A ``def``: use ``c.wait_until(…)`` for what takes time.
    on_state_change: Hook
    #: ``(c, params)``: raise to refuse the connection.
    on_before_connect: Hook
    #: ``(c, params)`` → the new connection's ``conn.state``.
    create_conn_state: Hook
    #: ``(c, conn)`` after it was made; raising ends it.
    on_connect: Hook
    #: ``(c, conn)`` after it ended.
    on_disconnect: Hook
    #: ``(c, action, args, output)`` → what is answered instead of the output.
    on_before_action_response: Hook
    #: ``(c, request)`` → a response, for raw HTTP.
    on_request: Hook
    #: ``(c, websocket)`` for a raw WebSocket, until it is closed.
    on_websocket: Hook


NAMES = tuple(Hooks.__annotations__)
#: Called between two commits, where nothing may be awaited.
_SYNC = frozenset({"on_state_change"})


def checked(given: Mapping[str, object]) -> Hooks:
    """The hooks, each a function. Raises `DefinitionError` with the fix."""
    for name, hook in given.items():
        check(name, hook)
    return cast(Hooks, dict(given))


def check(name: str, hook: object) -> None:
    """Raises `DefinitionError` for something that can't be this hook."""
    if not callable(hook):
        raise DefinitionError(f"{name} is a function, not {hook!r}.")
    if name in _SYNC and inspect.iscoroutinefunction(hook):
        raise DefinitionError(
            f"{name} is a plain def: it is called between two commits. For what takes time call "
            "c.wait_until(…) in it."
        )
