"""A step's record is on its way while the flow comes to its next verb: what shares its sync, what waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rivetpy import actor, queue, setup
from rivetpy.errors import StoreError
from rivetpy.host import Host
from rivetpy.store import Batch
from rivetpy.store.memory import MemoryStore
from rivetpy.store.refusals import Refusals
from rivetpy.wire.bodies import QueueSend
from rivetpy.workflow import layout, workflow
from tests.support.jump import JumpClock, run
from tests.support.world import until


class Disk(MemoryStore):
    """Whose every sync takes a second; whatever is handed in at the same moment shares one."""

    def __init__(self) -> None:
        super().__init__()
        #: Keys: a commit that puts one that begins so is refused when its second is over.
        self.refused: bytes | None = None
        self.durable: list[bytes] = []
        self._refusals = Refusals()

    def commit(self, batch: Batch) -> asyncio.Future[None]:
        return asyncio.ensure_future(self._commit(batch))

    async def _commit(self, batch: Batch) -> None:
        await asyncio.sleep(1)
        error = self._refusals.of(batch.actor)
        if self.refused is not None and any(key.startswith(self.refused) for key in batch.puts):
            error = StoreError("disk_full", "The test's disk is full.")
        if error is not None:
            self._refusals.tell(batch.actor, error)
            raise error
        await super().commit(batch)
        self.durable += batch.puts


Script = Callable[[Host, str, Disk], Awaitable[Any]]


def on_a_disk(flow: Any, script: Script, disk: Disk | None = None, **hooks: Any) -> Any:
    definition = actor(
        state={"n": 0}, queues={"work": queue()}, actions={"add": count}, run=workflow(flow, **hooks)
    )

    async def life() -> Any:
        used = disk or Disk()
        host = Host(setup(use={"a": definition}), used, JumpClock())
        await host.start()
        row = await host.create("default", "a", ("k",))
        try:
            return await script(host, row.id, used)
        finally:
            used.refused = None
            await host.stop()

    return run(life())


def now() -> float:
    return asyncio.get_running_loop().time()


def recorded(disk: Disk, location: str) -> bool:
    return layout.entry_key(location) in disk.durable


async def to_the_end(host: Host, actor_id: str, disk: Disk) -> None:
    await until(host, actor_id)


async def count(step: Any, by: int = 1) -> None:
    step.state["n"] += by


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
