"""Running an action or a hook: its answer, and its change, durable before the answer leaves (spec actors 2)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence

from rivetpy import codec
from rivetpy.calling import misfit
from rivetpy.codec import Value
from rivetpy.errors import EncodeError, RivetError
from rivetpy.host.context import ActorContext
from rivetpy.host.core import Core
from rivetpy.host.usercode import no_exit
from rivetpy.workflow.speaking import speaker

#: Takes what a function returned and gives what is handed on; may be async.
Finish = Callable[[Value], Value]


async def call(core: Core, context: ActorContext, action: str, args: Sequence[Value]) -> Value:
    """Run an action; interleaves at awaits with everything else of the actor.

    Raises RivetError ``actor.action_not_found``, ``invalid_request``, ``action_timed_out``, `EncodeError` for an
    answer or a state that can't be stored, and whatever the action raises.
    """
    limit = asyncio.timeout(core.definition.options.action_timeout)
    try:
        async with limit:
            return await _fitting(core, context, action, args)
    except TimeoutError as error:
        if limit.expired():
            raise RivetError("actor", "action_timed_out", "Action timed out") from error
        raise


async def _fitting(core: Core, context: ActorContext, action: str, args: Sequence[Value]) -> Value:
    function = core.definition.find_action(action)
    respond = core.definition.hooks.get("on_before_action_response")

    def finish(output: Value) -> Value:
        return output if respond is None else respond(context, action, list(args), output)

    try:
        return await perform(core, context, f"action {action!r}", function, args, finish, plain=True)
    except TypeError:
        if (why := misfit(function, context, *args)) is None:
            raise
    raise RivetError(
        "actor", "invalid_request", f"Action {action!r} was given arguments that don't fit: {why}."
    )


async def perform(
    core: Core,
    context: ActorContext,
    what: str,
    function: Callable[..., Value],
    args: Sequence[Value],
    finish: Finish | None = None,
    *,
    plain: bool = False,
) -> Value:
    """What user code returns (``plain``: as a client gets it), once what it changed is durable."""
    before, staged = core.half_done(), core.staged
    interleaved = False
    speaking = speaker.set(context.log)
    try:
        with no_exit(what):
            value = function(context, *args)
            if inspect.isawaitable(value):
                interleaved = True
                value = await value
            if finish is not None and inspect.isawaitable(value := finish(value)):
                interleaved = True
                value = await value
        return _as_sent(what, value) if plain else value
    finally:
        speaker.reset(speaking)
        if context.touched:
            await _commit(core, context, before, staged, interleaved)


def _as_sent(what: str, value: Value) -> Value:
    """What a client gets of the value. Raises `EncodeError`."""
    try:
        return codec.reread(value)[1]
    except EncodeError as error:
        raise EncodeError(
            error.path, f"{what} returned a value that can't be sent: {error.problem}"
        ) from None


async def _commit(
    core: Core, context: ActorContext, before: bytes | None, staged: bytes | None, interleaved: bool
) -> None:
    """Make the change durable. Never a running step's change before its entry (spec workflows 2): where the two
    can't be told apart, the answer waits for the step."""
    if context.part_of is not None:
        context.part_of()
        return
    change = None if core.cell is None else core.cell.change()
    if change is None or change == before:
        if core.staged is not staged:  # by another's batch, which may have brought this one's change along
            await core.caught_up()
        return
    if before is not None or interleaved or core.changing:
        await core.steps_settled()
    await core.write_state(context.stage_along)
