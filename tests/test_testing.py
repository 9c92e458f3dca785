"""rivetpy.testing, as users use it: on an ordinary event loop, without waiting."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any

import pytest

from rivetpy import RivetError, actor, queue, setup
from rivetpy.registry import Registry
from rivetpy.testing import Crashed, Engines, test_engine
from rivetpy.workflow import Loop, StepTimeoutError, workflow

charged: list[str] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    charged.clear()


async def charge(step: Any, order: str) -> str:
    charged.append(order)
    step.state["charged"] += 1
    return f"paid {order}"


async def trial(ctx: Any) -> Any:
    order = await ctx.queue.next("wait-order")
    await ctx.sleep("trial", dt.timedelta(days=30))
    return await ctx.step("charge", charge, order.body)


def shop(flow: Any = trial) -> Registry:
    return setup(
        use={
            "shop": actor(
                state={"charged": 0},
                queues={"orders": queue()},
                actions={"count": lambda c: c.state["charged"]},
                run=workflow(flow),
            )
        }
    )


@pytest.mark.parametrize("strict_replay", [False, True])
async def test_a_month_passes_in_a_moment(rivet_engine: Engines, strict_replay: bool) -> None:
    t = await rivet_engine(shop(), strict_replay=strict_replay)
    order = t.client.shop.get_or_create("o1")
    await order.send("orders", "book")
    await t.advance(days=29)
    assert (await t.workflow("shop", "o1")).status == "sleeping" and charged == []
    await t.advance(days=2)
    workflow = await t.workflow("shop", "o1")
    assert (workflow.status, workflow.output, charged) == ("completed", "paid book", ["book"])
    assert await order.count() == 1 and await t.state("shop", "o1") == {"charged": 1}
    assert any(event.kind == "run_completed" for event in t.events)


@pytest.mark.parametrize("when", ["crash_before_write", "crash_after_write"])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
async def test_a_crash_where_the_test_wants_it(rivet_engine: Engines, when: str, number: int) -> None:
    t = await rivet_engine(shop())
    await t.client.shop.get_or_create("main").send("orders", "book")
    await t.advance(days=29)
    getattr(t, when)(number)
    with pytest.raises(Crashed, match="restart"):
        await t.advance(days=2)
    await t.restart()
    await t.advance(days=2)
    assert (await t.workflow("shop")).status == "completed"
    assert charged in (["book"], ["book", "book"])
    assert await t.state("shop") == {"charged": 1}


@pytest.mark.parametrize("when", ["crash_before_write", "crash_after_write"])
@pytest.mark.parametrize("number", range(1, 7))
async def test_a_client_of_an_engine_that_dies(rivet_engine: Engines, when: str, number: int) -> None:
    """Whatever it waits for, nobody is left waiting, also when the test ends there."""
    t = await rivet_engine(shop())
    getattr(t, when)(number)
    order = t.client.shop.get_or_create("main")
    with pytest.raises((RivetError, Crashed)) as died:
        await order.send("orders", "book")
        assert await order.count() == 0
        await t.advance(days=31)
        pytest.fail("it lives")
    assert died.type is Crashed or died.value.code == "connection_lost"  # type: ignore[attr-defined]
    with pytest.raises(RivetError, match="went away"):
        await order.count()
    with pytest.raises(Crashed):
        await t.state("shop")
    with pytest.raises(Crashed):
        await t.settle()


async def test_a_send_that_waits_outlives_a_crash(rivet_engine: Engines) -> None:
    async def answer(ctx: Any) -> None:
        order = await ctx.queue.next("wait", completable=True)
        await order.complete("done")

    t = await rivet_engine(shop(answer))
    await t.client.shop.get_or_create("main").count()
    t.crash_after_write(1)
    sending = asyncio.ensure_future(t.client.shop.get("main").send("orders", 1, wait=True))
    with pytest.raises(Crashed):
        while True:
            await t.settle()
    await t.restart()
    reply = await sending
    assert reply is not None and reply.response == "done"


async def test_restarting_with_other_code_shows_what_would_diverge(rivet_engine: Engines) -> None:
    async def renamed(ctx: Any) -> Any:
        await ctx.queue.next("wait-something-else")

    t = await rivet_engine(shop())
    await t.client.shop.get_or_create("main").send("orders", "book")
    await t.settle()
    await t.restart(shop(renamed))
    assert (await t.workflow("shop")).status == "diverged"


async def test_retries_and_time_limits_of_steps_follow_the_clock(rivet_engine: Engines) -> None:
    async def fails(step: Any) -> int:
        if step.attempt < 3:
            raise ValueError("again")
        return int(step.attempt)

    async def hangs(step: Any) -> None:
        await asyncio.Event().wait()

    async def flow(ctx: Any) -> Any:
        attempt = await ctx.step("fails", fails, retry_backoff_base=3600, retry_backoff_max=7200)
        try:
            await ctx.step("hangs", hangs, timeout=3600)
        except StepTimeoutError:
            return attempt

    t = await rivet_engine(shop(flow))
    t.client.shop.get_or_create("main")
    await t.client.shop.get_or_create("main").count()
    await t.advance(hours=2)
    assert len((await t.workflow("shop")).entries) == 1
    await t.advance(hours=3)
    assert (await t.workflow("shop")).output == 3


async def test_a_loop_over_months_and_an_actor_that_is_not_there(rivet_engine: Engines) -> None:
    async def monthly(loop: Any, months: int) -> Any:
        await loop.sleep("month", dt.timedelta(days=30))
        await loop.step("charge", charge, f"month {months}")
        return Loop.break_(months) if months == 12 else Loop.continue_(months + 1)

    async def flow(ctx: Any) -> Any:
        return await ctx.loop("months", monthly, state=1)

    t = await rivet_engine(shop(flow))
    await t.client.shop.get_or_create("main").count()
    await t.advance(days=365)
    assert len(charged) == 12
    with pytest.raises(RivetError, match="not found"):
        await t.state("shop", "nobody")


def test_leaving_the_block_leaves_nothing_running() -> None:
    async def test() -> None:
        before = asyncio.all_tasks()
        async with test_engine(shop()) as t:
            await t.client.shop.get_or_create("main").send("orders", "book")
            await t.settle()
        await asyncio.sleep(0.01)
        assert asyncio.all_tasks() == before

    asyncio.run(test())
