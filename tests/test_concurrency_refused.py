"""asyncio's own ways to run things at once or to stop them, around verbs: refused, naming ctx.join and ctx.race."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from tests.support.flows import Flow, ended, reason_of, to_the_end, world_of

ran: list[str] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


async def note(step: Any, name: str = "") -> None:
    ran.append(name)


def started(ctx: Any, *names: str) -> list[asyncio.Task[Any]]:
    return [asyncio.ensure_future(ctx.step(name, note, name)) for name in names]


async def _gather(ctx: Any) -> None:
    await asyncio.gather(ctx.step("a", note, "a"), ctx.step("b", note, "b"))


async def _gather_exceptions(ctx: Any) -> None:
    await asyncio.gather(ctx.step("a", note, "a"), ctx.step("b", note, "b"), return_exceptions=True)


async def _create_task(ctx: Any) -> None:
    await asyncio.create_task(ctx.step("a", note, "a"))


async def _forgotten_task(ctx: Any) -> None:
    task = asyncio.create_task(ctx.step("a", note, "a"))
    await asyncio.sleep(1)
    assert task.done()
    with contextlib.suppress(Exception):
        task.result()


async def _wait(ctx: Any) -> None:
    done, _ = await asyncio.wait(started(ctx, "a", "b"))
    for task in done:
        task.exception()


async def _as_completed(ctx: Any) -> None:
    for next_one in asyncio.as_completed(started(ctx, "a", "b")):
        with contextlib.suppress(Exception):
            await next_one


async def _task_group(ctx: Any) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(ctx.sleep("a", 1))


async def _shield(ctx: Any) -> None:
    await asyncio.shield(ctx.sleep("a", 1))


async def _wait_for(ctx: Any) -> None:
    await asyncio.wait_for(ctx.sleep("a", 1e6), 1)


async def _swallowed(ctx: Any) -> str:
    with contextlib.suppress(Exception):
        await asyncio.gather(ctx.step("a", note, "a"))
    return "nothing happened"


async def _swallowed_then_a_verb(ctx: Any) -> None:
    with contextlib.suppress(Exception):
        await asyncio.gather(ctx.step("a", note, "a"))
    await ctx.step("b", note, "b")


FLOWS: list[Flow] = [
    _gather,
    _gather_exceptions,
    _create_task,
    _forgotten_task,
    _wait,
    _as_completed,
    _task_group,
    _shield,
    _wait_for,
    _swallowed,
    _swallowed_then_a_verb,
]


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.__name__.strip("_"))
@pytest.mark.parametrize("always_replay", [False, True], ids=["warm", "replay"])
def test_verbs_at_once_are_refused_at_the_first_use(flow: Flow, always_replay: bool) -> None:
    world = world_of(flow, always_replay=always_replay)
    world.live(to_the_end)
    view = world.view().workflow
    assert view.status == "failed" and ran == []
    assert [entry.location for entry in view.entries if entry.location != "a" or entry.finished] == []
    leaves = "".join(str(failure) for failure in [view.failure, *view.failure.leaves()])
    assert "ctx.join" in leaves and "ctx.race" in leaves


async def _timeout(ctx: Any) -> None:
    async with asyncio.timeout(5):
        await ctx.sleep("nap", 1e6)


async def _timeout_handled(ctx: Any) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(5):
            await ctx.sleep("nap", 1e6)
    await ctx.step("after", note, "after")


async def _timeout_around_a_join(ctx: Any) -> None:
    async def naps(branch: Any) -> None:
        await branch.sleep("nap", 1e6)

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(5):
            await ctx.join("j", {"a": naps, "b": naps})


async def _timeout_in_a_branch(ctx: Any) -> None:
    await ctx.join("j", {"a": _timeout})


@pytest.mark.parametrize("flow", [_timeout, _timeout_handled, _timeout_around_a_join, _timeout_in_a_branch])
def test_a_verb_that_was_stopped_from_outside_fails_the_workflow(flow: Flow) -> None:
    """When it was stopped is not recorded: a replay would find the nap over, or wait for it anew."""
    reason = reason_of(ended(flow))
    assert "cancelled from outside" in reason and "ctx.race with ctx.sleep" in reason and ran == []


def test_asyncio_within_a_step_and_timeouts_that_do_not_strike_are_fine() -> None:
    async def busy(step: Any) -> int:
        async with asyncio.timeout(10):
            return sum(await asyncio.gather(*(asyncio.sleep(1, i) for i in range(3))))

    async def flow(ctx: Any) -> Any:
        async with asyncio.timeout(100):
            await ctx.sleep("nap", 5)
        return await ctx.step("busy", busy)

    assert ended(flow).output == 3


def test_a_verb_inside_another_of_its_scope_is_refused() -> None:
    async def flow(ctx: Any) -> None:
        async def inside(loop: Any) -> None:
            await ctx.step("outside", note, "outside")

        await ctx.loop("l", inside)

    reason = reason_of(ended(flow))
    assert "use the context it is handed" in reason and ran == []


def test_the_context_of_a_scope_that_is_over_is_refused() -> None:
    kept: list[Any] = []

    async def flow(ctx: Any) -> None:
        await ctx.try_block("b", kept.append)
        await kept[0].step("late", note, "late")

    assert "a scope that is over" in reason_of(ended(flow)) and ran == []
