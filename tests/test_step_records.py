"""A step's record is on its way while the flow comes to its next verb: what shares its sync, what waits for it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rivetpy.errors import StoreError
from rivetpy.host import Host
from rivetpy.wire.bodies import QueueSend
from rivetpy.workflow import layout
from tests.support.disk import Disk, count, now, on_a_disk, recorded
from tests.support.world import until


async def to_the_end(host: Host, actor_id: str, disk: Disk) -> None:
    await until(host, actor_id)


def test_a_message_waits_for_one_sync() -> None:
    async def flow(ctx: Any) -> None:
        async def iteration(ctx: Any) -> None:
            message = await ctx.queue.next("wait", names=["work"])
            await ctx.step("count", count, message.body)

        await ctx.loop("counting", iteration)

    async def script(host: Host, actor_id: str, disk: Disk) -> float:
        begin = now()
        await asyncio.gather(*(host.send(actor_id, "work", QueueSend(1)) for _ in range(100)))
        while (await host.view(actor_id)).state["n"] < 100:
            await asyncio.sleep(0.5)
        return now() - begin

    # The sends' own, the first receipt's, and one each.
    assert 100 <= on_a_disk(flow, script) <= 104


def test_a_body_begins_when_the_step_before_is_durable() -> None:
    seen = []
    disk = Disk()

    async def flow(ctx: Any) -> None:
        await ctx.step("first", count)
        await ctx.step("second", lambda step: seen.append(recorded(disk, "first")))
        await ctx.join("both", dict.fromkeys(("a", "b"), branch))

    async def branch(ctx: Any) -> None:
        await ctx.step("third", lambda step: seen.append(recorded(disk, "second")))

    on_a_disk(flow, to_the_end, disk)
    assert seen == [True] * 3


def test_a_hook_is_called_when_the_step_before_is_durable() -> None:
    seen: list[bool] = []
    disk = Disk()

    async def flow(ctx: Any) -> None:
        await ctx.step("first", count)
        raise ValueError("no")

    on_a_disk(flow, to_the_end, disk, on_error=lambda event: seen.append(recorded(disk, "first")))
    assert seen == [True]


def test_what_a_step_sent_to_its_own_actor_is_there_for_the_next_verb() -> None:
    got: list[Any] = []

    async def send(step: Any) -> None:
        await step.queue.send("work", "mine")

    async def flow(ctx: Any) -> None:
        await ctx.step("send", send)
        got.extend(message.body for message in await ctx.queue.next_batch("look", timeout=0))

    on_a_disk(flow, to_the_end)
    assert got == ["mine"]


@pytest.mark.parametrize("refused", ["count", "next"])
def test_a_record_that_is_refused_takes_along_what_came_behind_it(refused: str) -> None:
    """Neither the receipt without the step, which would lose the message, nor the next body."""
    bodies: list[str] = []

    async def slow_count(step: Any) -> None:
        await asyncio.sleep(3)  # the message is there when it ends
        await count(step)

    async def flow(ctx: Any) -> None:
        await ctx.step("count", slow_count)
        message = await ctx.queue.next("next", names=["work"])
        await ctx.step("handle", lambda step: bodies.append(message.body))

    async def script(host: Host, actor_id: str, disk: Disk) -> Any:
        disk.refused = layout.entry_key(refused)
        await host.send(actor_id, "work", QueueSend("one"))
        await asyncio.sleep(6)
        assert bodies == [] and not recorded(disk, "next")
        disk.refused = None
        view = await until(host, actor_id, seconds=1000)
        return view.state

    assert on_a_disk(flow, script) == {"n": 1}
    assert bodies == ["one"]


def test_what_waits_for_something_else_leaves_the_record_on_its_way() -> None:
    """`await asyncio.sleep` in a workflow is a mistake, and yet nothing is held up by it."""

    async def flow(ctx: Any) -> None:
        await ctx.step("count", count)
        await asyncio.sleep(100)

    async def script(host: Host, actor_id: str, disk: Disk) -> Any:
        await asyncio.sleep(5)
        assert recorded(disk, "count")
        begin = now()
        await host.call(
            actor_id, "add", []
        )  # the step that had the state is recorded, so this waits for its own sync
        assert now() - begin < 3
        return (await host.view(actor_id)).state

    assert on_a_disk(flow, script) == {"n": 2}


def test_who_loses_a_race_hears_of_it_when_the_winners_step_is_durable() -> None:
    seen: list[bool] = []
    disk = Disk()

    async def waits(step: Any) -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            seen.append(recorded(disk, "first/quick/count"))

    async def quick(ctx: Any) -> None:
        await ctx.step("count", count)

    async def slow(ctx: Any) -> None:
        await ctx.step("wait", waits, timeout=None)

    async def flow(ctx: Any) -> None:
        await ctx.race("first", {"quick": quick, "slow": slow})

    on_a_disk(flow, to_the_end, disk)
    assert seen == [True]


def test_what_a_step_planned_for_now_is_done_once_that_is_durable() -> None:
    """And not at all by a record that is refused."""
    seen: list[bool] = []
    disk = Disk()

    async def plan(step: Any) -> None:
        await asyncio.sleep(2)
        await step.schedule.after(0, "look")

    async def flow(ctx: Any) -> None:
        await ctx.step("plan", plan)

    async def script(host: Host, actor_id: str, disk: Disk) -> None:
        disk.refused = layout.entry_key("plan")
        await asyncio.sleep(4)
        disk.refused = None
        await until(host, actor_id)
        await asyncio.sleep(2)

    on_a_disk(flow, script, disk, actions={"look": lambda c: seen.append(recorded(disk, "plan"))})
    assert seen == [True]


def test_a_record_that_is_refused_while_its_actor_leaves_takes_along_what_on_sleep_writes() -> None:
    """The state holds what the step did: without its record the step would do it twice."""

    async def slow_count(step: Any) -> None:
        await asyncio.sleep(3)
        await count(step)

    async def flow(ctx: Any) -> None:
        await ctx.step("count", slow_count)
        await ctx.sleep("long", 1e6)

    def on_sleep(c: Any) -> None:
        c.state["sleeps"] = c.state.get("sleeps", 0) + 1

    async def script(host: Host, actor_id: str, disk: Disk) -> Any:
        disk.refused = layout.entry_key("count")
        await asyncio.sleep(1)
        leaving = asyncio.ensure_future(host.sleep(actor_id))
        await asyncio.sleep(3.5)
        disk.refused = None
        with pytest.raises(StoreError):
            await leaving
        await until(host, actor_id, "sleeping", seconds=1000)
        return (await host.view(actor_id)).state

    assert on_a_disk(flow, script, on_sleep=on_sleep) == {"n": 1}


def test_a_body_that_ignores_its_end_is_no_error_that_user_code_could_catch() -> None:
    caught: list[Exception] = []

    async def stubborn(step: Any) -> None:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            await count(step)

    async def flow(ctx: Any) -> None:
        try:
            await ctx.step("count", stubborn, timeout=None)
        except Exception as error:
            caught.append(error)
            raise

    async def script(host: Host, actor_id: str, disk: Disk) -> Any:
        await asyncio.sleep(1)
        disk.refused = layout.MESSAGE
        with pytest.raises(StoreError):
            await host.send(actor_id, "work", QueueSend(1))
        disk.refused = None
        await asyncio.sleep(10)
        return (await host.view(actor_id)).state

    assert on_a_disk(flow, script) == {"n": 0}
    assert caught == []
