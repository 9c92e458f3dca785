"""The replay check: does code fit a recorded journal (spec workflows 10)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rivetpy.host import Host
from rivetpy.host.replay import Fit, check_replay
from rivetpy.wire.bodies import QueueSend
from tests.support.counting import broken, counted, counting, five_messages, note, ran
from tests.support.flows import define, to_the_end, world_of
from tests.support.jump import run
from tests.support.world import Died, World, until


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()
    broken.clear()


def checked(world: World, flow: Any, *, failed: bool = False) -> Any:
    rows, row = world.rows(), world.view().row
    report = run(check_replay(define(flow), row, rows, failed=failed))
    assert world.rows() == rows
    return report


def working(step: str) -> Any:
    """A branch that has done a step and is not over."""

    async def branch(ctx: Any) -> None:
        await ctx.step(step, note, "a")
        await ctx.sleep("after it", 1e9)

    return branch


async def napping(ctx: Any) -> None:
    await ctx.step("one", note, "one")
    await ctx.queue.next("m", names=["work"])
    await ctx.join("j", {"a": working("s"), "b": lambda b: b.sleep("long", 1e9)})


async def renamed_in_a_branch(ctx: Any) -> None:
    await ctx.step("one", note, "one")
    await ctx.queue.next("m", names=["work"])
    await ctx.join("j", {"b": lambda b: b.sleep("long", 1e9), "a": working("other")})


async def gated(ctx: Any) -> None:
    assert await ctx.get_version("gate", 2) == 1
    await napping(ctx)


async def shorter(ctx: Any) -> None:
    await ctx.step("one", note, "one")


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        (napping, Fit.FITS, None),
        (gated, Fit.FITS, None),
        (renamed_in_a_branch, Fit.DIVERGED, "a new step 'other'"),
        (shorter, Fit.DIVERGED, "the end of the workflow"),
    ],
)
def test_the_replay_check_finds_what_would_diverge_and_touches_nothing(
    code: Any, status: Fit, expected: str | None
) -> None:
    world = world_of(napping)

    async def script(host: Host, actor_id: str) -> None:
        await host.send(actor_id, "work", QueueSend(1))
        await until(host, actor_id, "sleeping")
        await asyncio.sleep(5)

    world.live(script)
    ran.clear()
    report = checked(world, code)
    assert (report.status, report.expected) == (status, expected)
    assert ran == []
    if status is Fit.DIVERGED:
        assert report.site is not None and report.error.metadata["around"]


def test_the_replay_check_passes_by_ended_workflows_and_plain_actors() -> None:
    assert checked(counted(), shorter).status is Fit.ENDED

    async def flow(ctx: Any) -> None:
        await ctx.sleep("nap", 1e9)

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(1))
    definition = define(flow)
    definition.run = None
    assert run(check_replay(definition, world.view().row, world.rows())).status is Fit.NO_WORKFLOW


async def failing(ctx: Any) -> None:
    await ctx.rollback_checkpoint("from here")
    await ctx.step("book", note, "book", rollback=lambda step, output: None)
    await ctx.join("j", {"a": lambda b: b.step("s", note, "a"), "b": lambda b: b.step("s", note, "bad")})


async def failing_otherwise(ctx: Any) -> None:
    await ctx.rollback_checkpoint("from here")
    await ctx.step("reserve", note, "book")


@pytest.mark.parametrize("code", [failing, failing_otherwise])
def test_a_failed_workflow_is_checked_when_asked_for(code: Any) -> None:
    world = world_of(failing)
    broken.add("bad")
    world.live(to_the_end)
    assert world.view().workflow.status == "failed"
    assert checked(world, code).status is Fit.FAILED
    fit = Fit.FITS if code is failing else Fit.DIVERGED
    assert checked(world, code, failed=True).status is fit
    assert checked(counted(), shorter, failed=True).status is Fit.ENDED


def test_the_replay_check_runs_a_cut_loop_up_to_the_frontier() -> None:
    world = world_of(counting)
    for commit in range(2, 20):
        world = world_of(counting)
        with pytest.raises(Died):
            world.live(five_messages, die_after=commit)
        report = checked(world, counting)
        assert report.status is Fit.FITS, commit
