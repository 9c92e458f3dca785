"""loop: carried state, break values, pruning (spec workflows 5)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rivetpy.wire.bodies import QueueSend
from rivetpy.workflow import Loop
from rivetpy.workflow.entries import LoopEntry
from tests.support.flows import ended, reason_of, to_the_end, world_of


async def note(step: Any, value: Any = None) -> Any:
    return value


def kept_iterations(world: Any) -> list[int]:
    places = {e.location.split("/")[1] for e in world.journal() if "/" in e.location}
    return sorted(int(place.removeprefix("~")) for place in places)


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, list(range(31, 51))),
        ({"history_prune_interval": 10}, list(range(41, 51))),
        ({"history_prune_interval": 10, "history_size": 3}, [48, 49, 50]),
        ({"history_prune_interval": 7, "history_size": 0}, []),
        ({"history_size": 1000}, list(range(51))),
    ],
    ids=repr,
)
def test_old_iterations_are_forgotten(options: Any, kept: list[int]) -> None:
    async def again(loop: Any, i: int) -> Any:
        await loop.step("s", note)
        return Loop.break_("end") if i == 50 else Loop.continue_(i + 1)

    async def flow(ctx: Any) -> Any:
        return await ctx.loop("l", again, state=0, **options)

    world = world_of(flow)
    world.live(to_the_end)
    assert kept_iterations(world) == kept
    assert world.view().workflow.output == "end"


def test_pruning_while_it_runs_is_bounded_and_incremental() -> None:
    async def again(loop: Any, i: int) -> Any:
        await loop.step("s", note)
        if i == 35:
            await asyncio.sleep(1e6)
        return Loop.continue_(i + 1)

    async def flow(ctx: Any) -> Any:
        await ctx.loop("l", again, state=0, history_prune_interval=10, history_size=5)

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(1), clean=False)
    assert kept_iterations(world) == list(range(25, 36))


def test_the_break_value_is_the_result_also_after_replay() -> None:
    async def once(loop: Any) -> Any:
        return Loop.break_(("a", 1))

    async def flow(ctx: Any) -> Any:
        value = await ctx.loop("l", once)
        await ctx.sleep("nap", 100)
        return value

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(1), clean=False)
    world.live(to_the_end)
    assert world.view().workflow.output == ["a", 1]


def test_a_carried_state_is_never_shared() -> None:
    async def again(loop: Any, state: Any) -> Any:
        before = list(state["seen"])
        state["seen"].append("changed after the fact")
        return Loop.break_(before) if len(before) == 2 else Loop.continue_({"seen": [*before, 1]})

    first: dict[str, Any] = {"seen": []}

    async def flow(ctx: Any) -> Any:
        return await ctx.loop("l", again, state=first)

    assert ended(flow).output == [1, 1]
    assert first == {"seen": []}


@pytest.mark.parametrize("state", [None, 0, False, "", []], ids=repr)
def test_empty_states_are_states(state: Any) -> None:
    async def again(loop: Any, given: Any) -> Any:
        return Loop.break_([given])

    async def flow(ctx: Any) -> Any:
        return await ctx.loop("l", again, state=state)

    assert ended(flow).output == [state]


@pytest.mark.parametrize(
    ("state", "result", "says"),
    [
        ({"state": 1}, None, "return Loop.continue_(state)"),
        ({}, "text", "returned 'text'"),
        ({}, Loop.continue_(1), "pass state="),
        ({"state": 1}, Loop.continue_(object()), "$"),
    ],
    ids=["nothing", "text", "no state", "not storable"],
)
def test_a_wrong_return_fails_with_the_fix(state: Any, result: Any, says: str) -> None:
    async def again(loop: Any, *carried: Any) -> Any:
        return result

    async def flow(ctx: Any) -> Any:
        await ctx.loop("l", again, **state)

    assert says in reason_of(ended(flow))


@pytest.mark.parametrize(
    "options",
    [{"history_prune_interval": 0}, {"history_size": -1}, {"history_prune_interval": 2.5}],
    ids=repr,
)
def test_senseless_options_are_refused(options: Any) -> None:
    async def flow(ctx: Any) -> Any:
        await ctx.loop("l", note, **options)

    assert "loop 'l': history_" in reason_of(ended(flow))


def test_an_iteration_without_verbs_does_not_hold_the_event_loop() -> None:
    async def spin(loop: Any, i: int) -> Any:
        return Loop.break_(i) if i == 5000 else Loop.continue_(i + 1)

    async def flow(ctx: Any) -> Any:
        return await ctx.loop("l", spin, state=0)

    world = world_of(flow)
    turns = 0

    async def script(host: Any, actor: str) -> None:
        nonlocal turns
        while (await host.view(actor)).workflow.status != "completed":
            turns += 1
            await asyncio.sleep(0)

    world.live(script)
    assert turns >= 5000 and world.view().workflow.output == 5000


def test_a_busy_counter_pays_two_commits_a_message() -> None:
    """The receipt with the position before it, and the step: the position needs no commit of its own."""

    async def again(loop: Any) -> Any:
        message = await loop.queue.next("wait")
        await loop.step("s", note)
        return Loop.break_() if message.body == "end" else None

    async def flow(ctx: Any) -> None:
        await ctx.sleep("let them come", 10)
        await ctx.loop("l", again)

    world = world_of(flow)

    async def script(host: Any, actor: str) -> None:
        for body in [*range(49), "end"]:
            await host.send(actor, "work", QueueSend(body))
        await to_the_end(host, actor)

    world.live(script)
    creation, sends, nap, loop_end, workflow_end, put_away = 1, 50, 2, 1, 1, 1
    assert world.commits == creation + sends + nap + 50 * 2 + loop_end + workflow_end + put_away


def test_a_scope_that_is_over_can_not_be_used() -> None:
    kept: list[Any] = []

    async def keep(loop: Any) -> Any:
        kept.append(loop)
        return Loop.break_()

    async def flow(ctx: Any) -> None:
        await ctx.loop("l", keep)
        await kept[0].step("s", note)

    assert "scope that is over" in reason_of(ended(flow))


def test_the_outer_context_is_refused_inside_an_iteration() -> None:
    async def flow(ctx: Any) -> None:
        async def wrong(loop: Any) -> None:
            await ctx.step("s", note)

        await ctx.loop("l", wrong)

    assert "use the context it is handed" in reason_of(ended(flow))


def test_a_loop_entry_shows_where_it_is() -> None:
    async def again(loop: Any, i: int) -> Any:
        await loop.sleep("nap", 10)
        return Loop.continue_(i + 1)

    async def flow(ctx: Any) -> None:
        await ctx.loop("l", again, state=0)

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(25))
    entry = world.journal()[0]
    assert isinstance(entry, LoopEntry) and entry.iteration == 2
