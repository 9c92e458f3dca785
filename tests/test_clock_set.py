"""A clock that somebody sets, forwards and backwards, while workflows wait by it."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any

import pytest

from rivetpy.clock import SystemClock
from rivetpy.host import Host
from rivetpy.registry import setup
from rivetpy.store.memory import MemoryStore
from tests.support.flows import define
from tests.support.jump import EPOCH, run

HOUR = 3600.0


class SetClock(SystemClock):
    """A wall clock that may be set; time passes as in the loop."""

    def __init__(self) -> None:
        #: How much it was set forwards, in seconds.
        self.set = 0.0

    def now(self) -> int:
        return EPOCH + round((asyncio.get_running_loop().time() + self.set) * 1000)


async def naps(ctx: Any) -> str:
    await ctx.sleep("nap", dt.timedelta(hours=1))
    return "awake"


async def limited(ctx: Any) -> str:
    async def work(step: Any) -> str:
        await asyncio.sleep(10)
        return "done in its time"

    return str(await ctx.step("work", work, timeout=20))


@pytest.mark.parametrize("asleep", [False, True], ids=["in memory", "put away"])
@pytest.mark.parametrize(("set_by", "before", "after"), [(2 * HOUR, 0, 120), (-HOUR, 1.9 * HOUR, 0.2 * HOUR)])
def test_a_sleep_ends_when_the_clock_reads_its_deadline(
    set_by: float, before: float, after: float, asleep: bool
) -> None:
    """Forwards it is noticed within a minute; backwards it takes as much longer, and ends once."""

    async def main() -> None:
        clock = SetClock()
        host = Host(setup(use={"a": define(naps)}), MemoryStore(), clock)
        await host.start()
        actor_id = (await host.get_or_create("default", "a", ()))[0].id
        await asyncio.sleep(60)
        if asleep:
            await host.sleep(actor_id)
        clock.set = set_by
        await asyncio.sleep(before)
        workflow = (await host.view(actor_id)).workflow
        assert workflow is not None and workflow.output is None
        await asyncio.sleep(after)
        workflow = (await host.view(actor_id)).workflow
        assert workflow is not None and workflow.output == "awake"
        await host.stop()

    run(main())


@pytest.mark.parametrize("set_by", [-24 * HOUR, 24 * HOUR])
def test_time_limits_do_not_follow_the_clock(set_by: float) -> None:
    async def main() -> None:
        clock = SetClock()
        host = Host(setup(use={"a": define(limited)}), MemoryStore(), clock)
        await host.start()
        actor_id = (await host.get_or_create("default", "a", ()))[0].id
        await asyncio.sleep(5)
        clock.set = set_by
        await asyncio.sleep(10)
        workflow = (await host.view(actor_id)).workflow
        assert workflow is not None and workflow.output == "done in its time"
        await host.stop()

    run(main())
