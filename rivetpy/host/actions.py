"""Running an action: its time limit, its answer, and its change, durable before the answer leaves (spec actors 2)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence

from rivetpy import codec
from rivetpy.codec import Value
from rivetpy.errors import RivetError, did_you_mean
from rivetpy.host.context import ActorContext, no_exit
from rivetpy.host.core import Core


async def call(core: Core, context: ActorContext, action: str, args: Sequence[Value]) -> Value:
    """Run an action; interleaves at awaits with everything else of the actor.

    Raises RivetError ``actor.action_not_found``, ``actor.action_timed_out``, `EncodeError` for an answer or a state
    that can't be stored, and whatever the action raises.
    """
    function = core.definition.actions.get(action)
    if function is None:
        raise RivetError(
            "actor",
            "action_not_found",
            f"Action `{action}` was not found. {did_you_mean(action, core.definition.actions)}",
            {"action": action},
        )
    limit = asyncio.timeout(core.definition.options.action_timeout)
    try:
        async with limit:
            return await _perform(core, function, context, args)
    except TimeoutError as error:
        if limit.expired():
            raise RivetError("actor", "action_timed_out", "Action timed out") from error
        raise


async def _perform(
    core: Core, function: Callable[..., Value], context: ActorContext, args: Sequence[Value]
) -> Value:
    before = core.half_done()
    interleaved = False
    try:
        with no_exit("the action"):
            value = function(context, *args)
            if inspect.isawaitable(value):
                interleaved = True
                value = await value
        return codec.reread(value)[1]
    finally:
        if context.touched:
            await _commit(core, before, interleaved)


async def _commit(core: Core, before: bytes | None, interleaved: bool) -> None:
    """Make the change durable. Never a running step's change before its entry (spec workflows 2): where the two
    can't be told apart, the answer waits for the step."""
    change = None if core.cell is None else core.cell.change()
    if change is None or change == before:
        return
    if before is not None or interleaved or core.changing:
        await core.steps_settled()
    await core.write_state()
