"""Mistakes people make when they write their first workflows, and what they are told."""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import Any

import pytest

from rivetpy.errors import did_you_mean
from rivetpy.workflow import Loop
from tests.support.flows import ended, reason_of

ran: list[str] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


async def note(step: Any, name: str = "") -> str:
    ran.append(name)
    return name


async def forgets_the_last(ctx: Any) -> str:
    ctx.step("charge", note)
    return "done"


async def forgets_one(ctx: Any) -> None:
    ctx.sleep("nap", 1)
    await ctx.step("charge", note, "charge")


async def forgets_a_queue(ctx: Any) -> None:
    ctx.queue.next("wait")
    await ctx.step("charge", note, "charge")


async def forgets_in_a_loop(ctx: Any) -> None:
    async def iteration(loop: Any) -> None:
        loop.step("charge", note)

    await ctx.loop("all", iteration)


@pytest.mark.parametrize(
    ("flow", "verb"),
    [
        (forgets_the_last, "ctx.step"),
        (forgets_one, "ctx.sleep"),
        (forgets_a_queue, "ctx.queue.next"),
        (forgets_in_a_loop, "ctx.step"),
    ],
)
def test_a_forgotten_await_fails_the_workflow_before_anything_else_runs(flow: Any, verb: str) -> None:
    reason = reason_of(ended(flow))
    assert reason.startswith(f"WorkflowUsageError: {verb}(…) was called without `await`")
    assert re.search(rf"{re.escape(__file__)}:\d+", reason) and f"await {verb}(…)" in reason
    assert ran == []


async def awaits_later(ctx: Any) -> list[str]:
    first, second = ctx.step("a", note, "a"), ctx.step("b", note, "b")
    await ctx.step("c", note, "c")
    return [await second, await first]


async def refused_and_caught(ctx: Any) -> str:
    with contextlib.suppress(ValueError):
        await ctx.sleep("nap", -1)
    return str(await ctx.step("a", note, "a"))


def test_a_verb_that_is_awaited_later_or_was_refused_is_not_forgotten() -> None:
    assert ended(awaits_later).output == ["b", "a"] and ran == ["c", "b", "a"]
    assert ended(refused_and_caught).output == "a"


async def returns_a_coroutine(ctx: Any) -> None:
    async def charge(step: Any) -> Any:
        return {"paid": asyncio.sleep(0)}

    await ctx.step("charge", charge)


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
def test_a_result_that_was_not_awaited_says_so() -> None:
    assert "$.paid: step 'charge' returned a value that can't be stored: a coroutine" in reason_of(
        ended(returns_a_coroutine)
    )


async def takes_nothing() -> None: ...


def takes_one_more(step: Any, order: Any) -> None: ...


def is_wrong_inside(step: Any) -> None:
    raise TypeError("inside")


@pytest.mark.parametrize(
    ("function", "args", "told"),
    [
        (takes_nothing, (), "def takes_nothing(step, …)"),
        (takes_one_more, (), "missing a required argument: 'order'"),
        (takes_one_more, (1, 2), "too many positional arguments"),
    ],
)
def test_a_step_function_that_does_not_fit_is_not_tried_again(function: Any, args: Any, told: str) -> None:
    async def flow(ctx: Any) -> None:
        await ctx.step("charge", function, *args)

    reason = reason_of(ended(flow))
    assert reason.startswith("StepCriticalError") and told in reason


def test_a_type_error_of_the_body_is_tried_again() -> None:
    async def flow(ctx: Any) -> None:
        await ctx.step("charge", is_wrong_inside)

    assert (
        reason_of(ended(flow))
        == "StepExhaustedError: Step 'charge' failed after 4 attempts: TypeError: inside"
    )


async def misspells_a_verb(ctx: Any) -> None:
    await ctx.stpe("charge", note)


async def misspells_a_queue_verb(ctx: Any) -> None:
    await ctx.queue.nxt("wait")


async def swaps_name_and_function(ctx: Any) -> None:
    await ctx.step(note, "charge")


async def joins_a_list(ctx: Any) -> None:
    await ctx.join("all", [note, note])


@pytest.mark.parametrize(
    ("flow", "told"),
    [
        (misspells_a_verb, "Did you mean 'step'?"),
        (misspells_a_queue_verb, "Did you mean 'next'?"),
        (swaps_name_and_function, "the name comes first"),
        (joins_a_list, "branches are a dict of functions by name"),
    ],
)
def test_a_verb_called_wrong_says_how_it_is_called(flow: Any, told: str) -> None:
    assert told in reason_of(ended(flow))
    assert ran == []


def test_a_name_used_twice_says_both_places_and_what_to_do() -> None:
    async def flow(ctx: Any) -> None:
        for word in ("first", "second"):
            await ctx.step("greet", note, word)

    view = ended(flow)
    assert view.status == "diverged" and ran == ["first"] and view.failure is not None
    told = view.failure.message
    assert "The name 'greet' is used twice" in told and "both times" in told and "f'greet-{item}'" in told
    assert "removed" not in told


def test_a_failure_knows_the_line_it_was_raised_at() -> None:
    async def flow(ctx: Any) -> None:
        await ctx.step("charge", is_wrong_inside, max_retries=0)

    failure = ended(flow).failure
    assert failure is not None
    code = is_wrong_inside.__code__
    assert failure.site == f"{code.co_filename}:{code.co_firstlineno + 1}"


def test_a_loop_without_verbs_can_be_stopped() -> None:
    from tests.support.flows import world_of

    async def spin(ctx: Any) -> None:
        async def iteration(loop: Any) -> Any:
            return Loop.continue_(None)

        await ctx.loop("for-ever", iteration)

    async def a_while(host: Any, actor: Any) -> None:
        for _ in range(50):
            await asyncio.sleep(0)

    world = world_of(spin)
    world.live(a_while)
    view = world.view().workflow
    assert view is not None and view.failure is None
    assert not [event for event in world.events if event.kind == "signal_swallowed"]


def test_long_names_are_proposed_by_their_beginning() -> None:
    assert did_you_mean("x", ["a" * 60, "b" * 3000]) == f"Known: '{'a' * 60}', '{'b' * 59}…'."
    assert did_you_mean("b" * 2999, ["b" * 3000]) == f"Did you mean '{'b' * 59}…'?"
