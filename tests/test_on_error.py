"""on_error: one call for every failure that is recorded, none while replaying (spec workflows 12)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rivetpy import DefinitionError, actor
from rivetpy.workflow import (
    CriticalError,
    ErrorEvent,
    Loop,
    RollbackErrorEvent,
    StepErrorEvent,
    WorkflowErrorEvent,
    workflow,
)
from tests.support.flows import to_the_end
from tests.support.world import World

told: list[ErrorEvent] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    told.clear()


async def fails(step: Any) -> None:
    raise ValueError(f"attempt {step.attempt}")


async def watched(ctx: Any) -> None:
    await ctx.try_step("fails", fails, max_retries=2, retry_backoff_base=1, retry_backoff_max=3)
    await ctx.sleep("nap", 1000)
    raise RuntimeError("the end")


def world_with(hook: Any, flow: Any = watched) -> World:
    return World(actor(run=workflow(flow, on_error=hook)))


def test_every_failed_attempt_and_the_end_are_told_once_over_replays_and_restarts() -> None:
    world = world_with(told.append)
    world.live(lambda host, actor: asyncio.sleep(20), clean=False)
    world.live(to_the_end)
    steps = [event for event in told if isinstance(event, StepErrorEvent)]
    assert [(e.attempt, e.remaining_retries, e.will_retry, e.retry_delay) for e in steps] == [
        (1, 2, True, 2.0),
        (2, 1, True, 3.0),
        (3, 0, False, None),
    ]
    assert steps[0].retry_at is not None and steps[0].step_name == "fails" and steps[0].max_retries == 2
    assert steps[2].error.message == "attempt 3"
    ends = [event for event in told if isinstance(event, WorkflowErrorEvent)]
    assert [event.error.message for event in ends] == ["the end"] and len(told) == 4


def test_an_async_hook_is_awaited() -> None:
    async def hook(event: ErrorEvent) -> None:
        await asyncio.sleep(1)
        told.append(event)

    world = world_with(hook)
    world.live(to_the_end)
    assert len(told) == 4


def test_a_hook_that_fails_is_reported_and_ignored() -> None:
    def hook(event: ErrorEvent) -> None:
        raise KeyError("the hook's own")

    world = world_with(hook)
    world.live(to_the_end)
    assert world.view().workflow.failure.message == "the end"
    assert "the hook's own" in world.said("hook_failed")[0] and len(world.said("hook_failed")) == 4


def test_a_failed_rollback_handler_is_told() -> None:
    async def undo(step: Any, output: Any) -> None:
        raise ValueError("can't undo")

    async def done(step: Any) -> None:
        return None

    async def critical(step: Any) -> None:
        raise CriticalError("stop")

    async def flow(ctx: Any) -> None:
        await ctx.rollback_checkpoint("here")
        await ctx.step("done", done, rollback=undo)
        await ctx.step("critical", critical)

    world = world_with(told.append, flow)
    world.live(to_the_end)
    assert [type(event) for event in told] == [StepErrorEvent, WorkflowErrorEvent, RollbackErrorEvent]
    assert not told[0].will_retry  # type: ignore[union-attr]


def test_both_spellings_and_a_hook_that_is_none() -> None:
    definition = actor()

    @definition.workflow(on_error=told.append)
    async def run(ctx: Any) -> Any:
        return await ctx.loop("l", lambda loop: Loop.break_())

    assert definition.run is not None and definition.run.on_error == told.append
    with pytest.raises(DefinitionError, match="on_error is a function"):
        workflow(run, on_error="log")  # type: ignore[arg-type]
