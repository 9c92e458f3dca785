"""step: time limits, crashes, and being put away (spec workflows 3, 12)."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

import pytest

from rivetpy.workflow import (
    Evicted,
    StepTimeoutError,
)
from rivetpy.workflow.entries import Status, StepEntry
from rivetpy.workflow.threads import Threads
from tests.support.flows import ended, reason_of, to_the_end, world_of


def entry_of(world: Any, location: str) -> StepEntry:
    return next(e for e in world.journal() if e.location == location)


# -- time limits -----------------------------------------------------------------------------------------


def test_a_timed_out_body_is_cancelled_and_cleans_up() -> None:
    log: list[str] = []

    async def slow(step: Any) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            log.append(f"finally at {asyncio.get_running_loop().time():.1f}, aborted: {step.abort.is_set()}")

    async def flow(ctx: Any) -> None:
        with pytest.raises(StepTimeoutError):
            await ctx.step("s", slow, timeout=0.2)

    assert ended(flow).status == "completed"
    assert log == ["finally at 0.2, aborted: True"]


def test_a_body_that_swallows_its_cancellation_timed_out_all_the_same() -> None:
    async def stubborn(step: Any) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "late"
        return "in time"

    async def flow(ctx: Any) -> None:
        await ctx.step("s", stubborn, timeout=1)

    assert "timed out" in reason_of(ended(flow))


def test_retry_on_timeout_tries_again() -> None:
    async def slow_at_first(step: Any) -> int:
        await asyncio.sleep(60 if step.attempt < 3 else 0)
        return int(step.attempt)

    async def flow(ctx: Any) -> Any:
        return await ctx.step("s", slow_at_first, timeout=1, retry_on_timeout=True)

    assert ended(flow).output == 3


@pytest.mark.parametrize("timeout", [0, None])
def test_no_time_limit(timeout: Any) -> None:
    async def slow(step: Any) -> str:
        await asyncio.sleep(86400)
        return "done"

    async def flow(ctx: Any) -> Any:
        return await ctx.step("s", slow, timeout=timeout)

    assert ended(flow).output == "done"


def test_a_timed_out_thread_is_told_and_its_late_result_thrown_away() -> None:
    told, go = threading.Event(), threading.Event()

    def slow(step: Any) -> str:
        go.wait(5)
        told.set() if step.abort.wait(5) else None
        return "late"

    async def flow(ctx: Any) -> Any:
        try:
            await ctx.step("s", slow, timeout=0.05)
        except StepTimeoutError:
            return "went on"

    world = world_of(flow)

    async def script(host: Any, actor: str) -> None:
        await to_the_end(host, actor)
        go.set()
        while not told.is_set():
            await asyncio.sleep(0.01)

    try:
        world.live(script)
    finally:
        go.set()
    assert world.view().workflow.output == "went on"
    assert entry_of(world, "s").output is None


def test_what_a_given_up_thread_still_changes_is_nobodys_state() -> None:
    told, changed = threading.Event(), threading.Event()

    def slow(step: Any) -> None:
        state = step.state
        state["n"] = 1
        told.wait(20)
        state["n"] = 99
        changed.set()

    async def flow(ctx: Any) -> Any:
        with contextlib.suppress(StepTimeoutError):
            await ctx.step("s", slow, timeout=0.05)
        await ctx.sleep("nap", 1)
        return await ctx.step("look", add_ten)

    def add_ten(step: Any) -> int:
        step.state["n"] += 10
        return int(step.state["n"])

    world = world_of(flow)

    async def script(host: Any, actor: str) -> None:
        while not entry_was_given_up(world):
            await asyncio.sleep(0.01)
        told.set()
        while not changed.is_set():
            await asyncio.sleep(0.01)
        await to_the_end(host, actor)

    def entry_was_given_up(world: Any) -> bool:
        return bool(world.said("step_failed"))

    try:
        world.live(script)
    finally:
        told.set()
    assert world.view().workflow.output == 11, "what it changed in its time rolled forward"
    assert world.view().state["n"] == 11


def test_stuck_bodies_leave_room_for_others() -> None:
    go = threading.Event()
    threads = Threads(most=4)

    async def main() -> list[Any]:
        lost: list[int] = []
        stuck = [
            asyncio.ensure_future(threads.run(lambda: go.wait(20), lambda: lost.append(1))) for _ in range(12)
        ]
        while stuck:
            await asyncio.sleep(0.01)
            for task in stuck[:2]:
                task.cancel()
            await asyncio.gather(*stuck[:2], return_exceptions=True)
            del stuck[:2]
        done = await asyncio.wait_for(
            asyncio.gather(*(threads.run(lambda: 1, lambda: None) for _ in range(8))), 20
        )
        return [*done, len(lost)]

    try:
        result = asyncio.run(main())
    finally:
        go.set()
    assert result[:8] == [1] * 8
    assert result[8] >= 4


# -- crashes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("retries", [0, 2])
def test_a_step_that_kills_the_engine_is_exhausted(retries: int) -> None:
    starts: list[int] = []

    async def deadly(step: Any) -> None:
        starts.append(step.attempt)
        await asyncio.sleep(1e6)

    async def flow(ctx: Any) -> None:
        await ctx.step("deadly", deadly, max_retries=retries, timeout=None)

    world = world_of(flow)
    for _ in range(retries + 1):
        world.live(lambda host, actor: asyncio.sleep(1), clean=False)
    world.live(to_the_end)
    assert starts == list(range(1, retries + 2))
    assert entry_of(world, "deadly").status is Status.EXHAUSTED
    assert "deadly" in world.said("step_crashed")[-1]


def test_a_crash_elsewhere_is_not_the_steps_fault() -> None:
    """The engine died while the workflow waited: the step after the wait starts with a clean slate."""

    async def one(step: Any) -> int:
        return int(step.attempt)

    async def flow(ctx: Any) -> Any:
        await ctx.sleep("nap", 100)
        return await ctx.step("s", one, max_retries=0)

    world = world_of(flow)
    for _ in range(3):
        world.live(lambda host, actor: asyncio.sleep(1), clean=False)
    world.live(to_the_end)
    assert world.view().workflow.output == 1


def test_normal_life_pays_one_commit_a_step() -> None:
    async def one(step: Any) -> None:
        step.state["n"] += 1

    async def flow(ctx: Any) -> None:
        for i in range(10):
            await ctx.step(f"s{i}", one)

    world = world_of(flow)
    world.live(to_the_end)
    creation_end_and_sleep = 3
    assert world.commits == 10 + creation_end_and_sleep


def test_ephemeral_steps_travel_with_the_next_write() -> None:
    async def one(step: Any) -> int:
        return 1

    async def flow(ctx: Any) -> None:
        for i in range(10):
            await ctx.step(f"e{i}", one, ephemeral=True)
        await ctx.step("durable", one)

    world = world_of(flow)
    world.live(to_the_end)
    assert world.commits == 1 + 3
    assert len(world.journal()) == 11


def test_an_ephemeral_step_that_changes_state_is_durable() -> None:
    async def change(step: Any) -> None:
        step.state["n"] = 5

    async def flow(ctx: Any) -> None:
        await ctx.step("e", change, ephemeral=True)
        await asyncio.sleep(1000)

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(1), clean=False)
    assert world.view().state == {"n": 5} and world.recorded_steps() == {"e"}


# -- being put away --------------------------------------------------------------------------------------


def test_eviction_lets_a_running_step_finish() -> None:
    finished: list[str] = []

    async def slow(step: Any) -> None:
        await asyncio.sleep(5)
        finished.append("step")

    async def flow(ctx: Any) -> None:
        try:
            await ctx.step("slow", slow)
            await ctx.step("next", slow)
        except Evicted:
            finished.append("evicted")
            raise

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(1))
    assert finished == ["step", "evicted"] and world.recorded_steps() == {"slow"}
    world.live(to_the_end)
    assert finished[2:] == ["step"]


def test_eviction_cancels_a_step_that_outlives_the_grace_period() -> None:
    log: list[str] = []

    async def endless(step: Any) -> None:
        try:
            await asyncio.sleep(1e6)
        finally:
            log.append("finally")

    async def flow(ctx: Any) -> None:
        await ctx.step("endless", endless, timeout=None)

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(1))
    assert log == ["finally"] and world.recorded_steps() == set()
    assert world.time < 100
