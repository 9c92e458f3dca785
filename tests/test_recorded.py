"""now, random, uuid: recorded once, the same on every replay (spec workflows 1)."""

from __future__ import annotations

import asyncio
import datetime as dt
import uuid as uuids
from typing import Any

import pytest

from rivetpy.host import Host
from tests.support.flows import define, to_the_end, world_of
from tests.support.jump import EPOCH
from tests.support.world import World


async def for_a_while(host: Host, actor_id: str) -> None:
    await host.drop_messages(actor_id, None)
    await asyncio.sleep(10)


@pytest.mark.parametrize("verb", ["now", "random", "uuid"])
@pytest.mark.parametrize("always_replay", [False, True], ids=["warm", "replay"])
def test_every_replay_sees_the_first_value(verb: str, always_replay: bool) -> None:
    seen: list[Any] = []

    async def flow(ctx: Any) -> Any:
        await ctx.sleep("before", 1)
        seen.append(await getattr(ctx, verb)("value"))
        await ctx.sleep("nap", 100)

    world = world_of(flow, always_replay=always_replay)
    world.live(for_a_while)
    world.live(for_a_while, clean=False)
    world.live(to_the_end)
    assert len(seen) >= 3 and len(set(seen)) == 1


def test_types_and_ranges() -> None:
    seen: list[Any] = []

    async def flow(ctx: Any) -> Any:
        seen.extend([await ctx.now("n"), *[await ctx.random(f"r{i}") for i in range(9)]])
        seen.extend([await ctx.uuid("u"), await ctx.uuid("v")])

    world_of(flow).live(to_the_end)
    moment, *numbers, one, other = seen
    assert moment.utcoffset() == dt.timedelta(0) and moment.timestamp() * 1000 == EPOCH
    assert all(0 <= number < 1 for number in numbers) and len(set(numbers)) == 9
    assert isinstance(one, uuids.UUID) and one.version == 4 and one != other


def test_they_travel_with_what_is_recorded_next() -> None:
    async def flow(ctx: Any) -> Any:
        for i in range(20):
            await ctx.now(f"n{i}")
        await ctx.sleep("nap", 100)

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(1), clean=False)
    assert world.commits == 2  # the actor, and the sleep with the twenty
    assert len(world.journal()) == 21


def test_no_number_of_crashes_exhausts_them() -> None:
    async def nap(step: Any) -> None:
        await asyncio.sleep(1)

    async def flow(ctx: Any) -> Any:
        await ctx.now("n")
        await ctx.step("nap", nap, max_retries=100)
        return "done"

    world = World(define(flow))
    for _ in range(8):
        world.live(lambda host, actor: asyncio.sleep(0.5), clean=False)
    world.live(to_the_end)
    assert world.view().workflow.output == "done"


@pytest.mark.parametrize("verb", ["now", "random", "uuid"])
def test_another_kind_at_the_name_diverges(verb: str) -> None:
    async def before(ctx: Any) -> Any:
        await ctx.sleep("x", 1e6)

    async def after(ctx: Any) -> Any:
        await getattr(ctx, verb)("x")

    world = World(define(before))
    world.live(for_a_while)
    world.definition = define(after)
    world.live(for_a_while)
    assert world.view().workflow.status == "diverged"
