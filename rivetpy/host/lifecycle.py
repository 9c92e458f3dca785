"""The hooks of an actor's life, in their order (spec actors 2)."""

from __future__ import annotations

import asyncio
import copy
import functools
from typing import Literal

from rivetpy.codec import Value
from rivetpy.host.actions import perform
from rivetpy.host.conns import Conn
from rivetpy.host.context import ActorContext
from rivetpy.host.parts import Parts
from rivetpy.host.usercode import at_most, hook_timed_out, no_exit
from rivetpy.store import Batch

Limit = Literal["create_vars_timeout", "create_conn_state_timeout", "on_connect_timeout"]


async def hook(
    parts: Parts, name: str, *args: Value, conn: Conn | None = None, limit: Limit | None = None
) -> Value:
    """Call a hook, if there is one; what it changed is durable when this returns. Raises what it raises."""
    function = parts.core.definition.hooks.get(name)
    if function is None:
        return None
    context = ActorContext(parts, conn)
    if limit is None:
        return await perform(parts.core, context, name, function, args)  # type: ignore[arg-type]
    seconds = getattr(parts.core.definition.options, limit)
    async with at_most(seconds, hook_timed_out(name, limit, seconds)):
        return await perform(parts.core, context, name, function, args)  # type: ignore[arg-type]


async def create(parts: Parts) -> None:
    """A new actor: on_migrate, its first state, on_create. Nothing is stored before the end."""
    core = parts.core
    definition = core.definition
    await _migrate(parts)
    if definition.create_state is not None:
        state = await perform(
            core, ActorContext(parts), "create_state", definition.create_state, (core.input,)
        )
        core.take_state(state)
    elif definition.shape is not None:
        core.take_state(definition.shape.initial())
    await hook(parts, "on_create")


async def wake(parts: Parts, *, created: bool) -> None:
    """An actor comes into memory: on_migrate (unless it was just `create`d), vars, on_wake."""
    definition = parts.core.definition
    if not created:
        await _migrate(parts)
    if "create_vars" in definition.hooks:
        parts.core.vars = await hook(parts, "create_vars", limit="create_vars_timeout")
    elif definition.vars is not None:
        parts.core.vars = copy.deepcopy(definition.vars)
    if "on_state_change" in definition.hooks:
        parts.core.on_state_change = functools.partial(_state_changed, parts)
    await hook(parts, "on_wake")


async def _migrate(parts: Parts) -> None:
    """A migration is done as a whole: the next try finds what the last whole one left."""
    if "on_migrate" in parts.core.definition.hooks:
        async with parts.db.transaction():
            await hook(parts, "on_migrate")


def _state_changed(parts: Parts, change: Batch) -> None:
    """Call the hook; what it changed in the state, even if it failed then, goes into the batch."""
    core = parts.core
    try:
        before = core.half_done()
        try:
            with no_exit("on_state_change"):
                core.definition.hooks["on_state_change"](ActorContext(parts), core.state)
        finally:
            core.stage_apart(change, before)
    except Exception as error:
        parts.failed("on_state_change", error)


async def last_words(parts: Parts, name: str, deadline: float) -> None:
    """Call on_sleep or on_destroy, until the deadline (loop time); its failure is reported and changes nothing."""
    try:
        async with asyncio.timeout_at(deadline):
            await hook(parts, name)
    except Exception as error:
        parts.failed(name, error)
