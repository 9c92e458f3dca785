"""try_step, try_block: which failures become values, and what is never caught (spec workflows 4)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rivetpy.host import Host
from rivetpy.workflow import CriticalError, Failed, Ok, RollbackError
from tests.support.flows import define, ended, reason_of, to_the_end, world_of
from tests.support.world import World

ran: list[str] = []

BOTH_MODES = pytest.mark.parametrize("always_replay", [False, True], ids=["warm", "replay"])
ALL_SOURCES = ("step", "join", "race", "block")


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


async def note(step: Any, name: str = "", value: Any = None) -> Any:
    ran.append(name)
    return value


async def critical(step: Any) -> None:
    raise CriticalError("final")


async def rollback(step: Any) -> None:
    raise RollbackError("undo")


async def slow(step: Any) -> None:
    await asyncio.sleep(100)


async def broken(step: Any) -> None:
    raise ValueError("broken")


BODIES = {"critical": critical, "rollback": rollback, "timeout": slow, "exhausted": broken}


async def for_a_while(host: Host, actor_id: str) -> None:
    await host.drop_messages(actor_id, None)
    await asyncio.sleep(10)


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("caught", [None, *BODIES])
def test_a_step_is_caught_by_its_kind(kind: str, caught: str | None) -> None:
    options = {} if caught is None else {"catch": (caught,)}

    async def flow(ctx: Any) -> Any:
        match await ctx.try_step("s", BODIES[kind], max_retries=1, timeout=1, **options):
            case Failed(failure):
                return [failure.kind, failure.step_name, failure.attempts, failure.error.type]
            case Ok(value):
                return value

    view = ended(flow)
    if caught == kind or (caught is None and kind != "rollback"):
        attempts = 2 if kind == "exhausted" else 1
        assert view.status == "completed" and view.output[:3] == [kind, "s", attempts]
    else:
        assert "Step 's'" in reason_of(view)


def test_a_step_that_works_is_ok_and_takes_all_options() -> None:
    async def flow(ctx: Any) -> Any:
        got = await ctx.try_step("s", note, "ran", [1], max_retries=0, timeout=None, ephemeral=True)
        assert got == Ok([1])
        return got.value

    assert ended(flow).output == [1] and ran == ["ran"]


@BOTH_MODES
def test_what_was_caught_reads_the_same_on_replay_and_runs_no_more(always_replay: bool) -> None:
    told: list[Any] = []

    async def counted(step: Any) -> None:
        ran.append("counted")
        raise ValueError("broken")

    async def block(b: Any) -> Any:
        await b.step("s", counted, max_retries=0)

    async def flow(ctx: Any) -> Any:
        told.append(await ctx.try_step("s", counted, max_retries=0))
        told.append(await ctx.try_block("b", block))
        await ctx.sleep("nap", 100)

    world = world_of(flow, always_replay=always_replay)
    world.live(for_a_while)
    world.live(to_the_end)
    assert ran == ["counted"] * 2
    assert (
        len(told) >= 4
        and told[::2] == told[:1] * len(told[::2])
        and told[1::2] == told[1:2] * len(told[1::2])
    )


async def a_step(b: Any) -> Any:
    await b.step("s", broken, max_retries=0)


async def a_join(b: Any) -> Any:
    await b.join("j", {"a": a_step, "b": lambda branch: 1})


async def a_race(b: Any) -> Any:
    await b.race("r", {"a": a_step})


async def own_code(b: Any) -> Any:
    await b.step("fine", note)
    raise KeyError("own")


async def a_nested_block(b: Any) -> Any:
    await b.try_block("inner", own_code)


async def a_loop(b: Any) -> Any:
    await b.loop("l", a_step)


@pytest.mark.parametrize(
    ("block", "source", "kind"),
    [
        (a_step, "step", "StepExhaustedError"),
        (a_join, "join", "JoinError"),
        (a_race, "race", "RaceError"),
        (own_code, "block", "KeyError"),
        (a_nested_block, "block", "KeyError"),
        (a_loop, "step", "StepExhaustedError"),
    ],
)
@pytest.mark.parametrize("caught", [None, *ALL_SOURCES])
def test_a_block_is_caught_by_the_source(block: Any, source: str, kind: str, caught: str | None) -> None:
    options = {} if caught is None else {"catch": (caught,)}

    async def flow(ctx: Any) -> Any:
        match await ctx.try_block("b", block, **options):
            case Failed(failure):
                return [failure.source, failure.name, failure.error.type]
            case Ok(value):
                return value

    view = ended(flow)
    if caught == source or (caught is None and source != "block"):
        assert view.output == [source, "b", kind]
    else:
        assert kind in reason_of(view)


def test_a_block_that_works_is_ok() -> None:
    async def flow(ctx: Any) -> Any:
        got = [await ctx.try_block(str(value), lambda b, value=value: value) for value in (None, 0, [])]
        assert got == [Ok(None), Ok(0), Ok([])]

    assert ended(flow).status == "completed"


@pytest.mark.parametrize(
    ("verb", "catch"),
    [("try_step", ("all",)), ("try_step", "critical"), ("try_block", ("critical",)), ("try_block", "step")],
)
def test_what_can_not_be_caught_is_refused(verb: str, catch: Any) -> None:
    async def flow(ctx: Any) -> Any:
        await getattr(ctx, verb)("s", note, catch=catch)

    view = ended(flow)
    assert f"{verb} 's': catch is a tuple of" in reason_of(view) and view.entries == () and ran == []


async def no_checkpoint(b: Any) -> Any:
    await b.step("s", note, rollback=note)


async def other_task(b: Any) -> Any:
    await asyncio.gather(b.step("s", note))


@pytest.mark.parametrize(
    ("block", "says"), [(no_checkpoint, "rollback_checkpoint"), (other_task, "ctx.join")]
)
def test_mistakes_in_the_use_of_verbs_are_not_caught(block: Any, says: str) -> None:
    async def flow(ctx: Any) -> Any:
        await ctx.try_block("b", block, catch=ALL_SOURCES)

    assert says in reason_of(ended(flow)) and ran == []


def test_divergence_is_not_caught() -> None:
    async def before(ctx: Any) -> Any:
        async def block(b: Any) -> Any:
            await b.step("old", note)
            await b.sleep("nap", 1e6)

        await ctx.try_block("b", block, catch=ALL_SOURCES)

    async def after(ctx: Any) -> Any:
        async def block(b: Any) -> Any:
            await b.try_step("new", note, "new", catch=tuple(BODIES))
            await b.sleep("nap", 1e6)

        await ctx.try_block("b", block, catch=ALL_SOURCES)

    world = World(define(before))
    world.live(for_a_while)
    ran.clear()
    world.definition = define(after)
    world.live(for_a_while)
    assert world.view().workflow.status == "diverged" and ran == []


@pytest.mark.parametrize("swallow", [False, True])
@BOTH_MODES
def test_waits_and_evictions_pass_through(always_replay: bool, swallow: bool) -> None:
    async def waits(b: Any) -> Any:
        try:
            await b.sleep("nap", 100)
        except BaseException:
            if not swallow:
                raise ValueError("instead of the signal") from None
            return "swallowed"
        await b.queue.next_batch("m", timeout=100)
        return "waited"

    async def flow(ctx: Any) -> Any:
        return (await ctx.try_block("b", waits, catch=ALL_SOURCES)).value

    world = world_of(flow, always_replay=always_replay)
    for _ in range(3):
        world.live(for_a_while)
    world.live(to_the_end)
    assert world.view().workflow.output == "waited"


def test_a_retry_wait_inside_is_not_a_failure() -> None:
    async def third_time(step: Any) -> int:
        if step.attempt < 3:
            raise ValueError("not yet")
        return int(step.attempt)

    async def block(b: Any) -> Any:
        return await b.step("s", third_time, retry_backoff_base=50, retry_backoff_max=50)

    async def flow(ctx: Any) -> Any:
        return (await ctx.try_block("b", block, catch=ALL_SOURCES)).value

    world = world_of(flow)
    world.live(for_a_while)
    world.live(to_the_end)
    assert world.view().workflow.output == 3
