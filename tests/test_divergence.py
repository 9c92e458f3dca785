"""Code that no longer fits its journal, and code that could not be replayed (spec workflows 8, 10, 12)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rivetpy import RivetError
from rivetpy.errors import EncodeError
from rivetpy.host import Host
from rivetpy.wire.bodies import QueueSend
from rivetpy.workflow import CriticalError, Evicted, Loop, StepError
from tests.support.flows import define, ended, reason_of, to_the_end, world_of
from tests.support.world import World

ran: list[str] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


async def note(step: Any, name: str = "") -> None:
    ran.append(name)


async def woken(host: Host, actor_id: str) -> None:
    """Have the actor in memory for a while, as any message does."""
    await host.drop_messages(actor_id, None)
    await asyncio.sleep(10)


def change_code(before: Any, after: Any) -> World:
    """Run ``before`` until it waits, then ``after`` over its journal."""
    world = World(define(before))
    world.live(woken)
    ran.clear()
    world.definition = define(after)
    world.live(woken)
    return world


async def two_and_nap(ctx: Any) -> None:
    await ctx.step("one", note)
    await ctx.step("two", note)
    await ctx.sleep("nap", 1e6)


def journal_rows(world: World) -> list[tuple[bytes, bytes]]:
    return [row for row in world.rows() if row[0].startswith(b"j")]


async def renamed(ctx: Any) -> None:
    await ctx.step("one", note)
    await ctx.step("second", note, "second")
    await ctx.sleep("nap", 1e6)


async def inserted(ctx: Any) -> None:
    await ctx.step("zero", note, "zero")
    await two_and_nap(ctx)


async def appended_before_nap(ctx: Any) -> None:
    await ctx.step("one", note)
    await ctx.step("two", note)
    await ctx.step("three", note, "three")
    await ctx.sleep("nap", 1e6)


async def another_kind(ctx: Any) -> None:
    await ctx.step("one", note)
    await ctx.sleep("two", 5)


async def removed(ctx: Any) -> None:
    await ctx.step("one", note)
    await ctx.sleep("nap", 1e6)


async def shorter(ctx: Any) -> None:
    await ctx.step("one", note)


@pytest.mark.parametrize(
    ("after", "expected", "found"),
    [
        (renamed, "new step 'second'", "step 'two' next"),
        (inserted, "new step 'zero'", "step 'one' next"),
        (appended_before_nap, "new step 'three'", "sleep 'nap' next"),
        (another_kind, "sleep 'two'", "step 'two'"),
        (removed, "sleep 'nap'", "step 'two' next"),
        (shorter, "the end of the workflow", "step 'two' next"),
    ],
)
@pytest.mark.parametrize("always_replay", [False, True], ids=["warm", "replay"])
def test_changed_code_is_found_before_a_new_body_runs(
    after: Any, expected: str, found: str, always_replay: bool
) -> None:
    world = World(define(two_and_nap), always_replay=always_replay)
    world.live(lambda host, actor: asyncio.sleep(10))
    rows = journal_rows(world)
    ran.clear()
    world.definition = define(after)
    world.live(woken)
    view = world.view().workflow
    assert view is not None and view.status == "diverged" and view.failure is not None
    assert expected in view.failure.message and found in view.failure.message
    assert "test_divergence.py:" in view.failure.message
    assert ran == []
    assert journal_rows(world) == rows


async def retried(ctx: Any) -> None:
    await ctx.step("one", note)
    await ctx.step("again", fails, retry_backoff_base=1e5, retry_backoff_max=1e6)


async def retried_without_one(ctx: Any) -> None:
    await ctx.step("again", fails, retry_backoff_base=1e5, retry_backoff_max=1e6)


async def fails(step: Any) -> None:
    ran.append("again")
    raise ValueError("not yet")


def test_what_was_taken_out_before_an_unfinished_entry_is_missed_before_that_goes_on() -> None:
    world = World(define(retried))
    world.live(lambda host, actor: asyncio.sleep(10))
    assert ran == ["", "again"]
    world.definition = define(retried_without_one)
    world.live(to_the_end)
    view = world.view().workflow
    assert view is not None and view.failure is not None
    assert view.status == "diverged"
    assert [near["location"] for near in view.failure.metadata["around"] if near["here"]] == ["one"]
    assert ran == ["", "again"], "the attempt that was due was not made"


def test_divergence_tells_what_is_recorded_around_it() -> None:
    view = change_code(two_and_nap, renamed).view().workflow
    assert view is not None and view.failure is not None
    told = view.failure.metadata
    assert (told["location"], told["expected"], told["found"]) == (
        "second",
        "a new step 'second'",
        "step 'two' next",
    )
    assert told["site"].rpartition("/")[2].startswith("test_divergence.py:")
    assert [(near["kind"], near["location"], near["here"]) for near in told["around"]] == [
        ("step", "one", False),
        ("step", "two", True),
        ("sleep", "nap", False),
    ]
    for way_out in ("ctx.removed", "ctx.get_version", "a new name", "rivet rewind"):
        assert way_out in view.failure.message


def test_divergence_writes_nothing_however_often_it_is_tried_and_good_code_goes_on() -> None:
    world = World(define(two_and_nap))
    world.live(lambda host, actor: asyncio.sleep(10))
    rows = journal_rows(world)
    world.definition = define(renamed)
    for _ in range(10):
        world.live(woken)
    assert journal_rows(world) == rows
    world.definition = define(two_and_nap)
    world.live(lambda host, actor: asyncio.sleep(10), create=False)
    assert world.view().workflow.status == "sleeping"
    world.live(to_the_end)
    assert world.view().workflow.status == "completed"


def test_except_exception_does_not_hide_divergence() -> None:
    async def hides(ctx: Any) -> None:
        await ctx.step("one", note)
        try:
            await ctx.step("second", note)
        except Exception:
            await ctx.sleep("nap", 1e6)

    assert change_code(two_and_nap, hides).view().workflow.status == "diverged"


def test_a_bare_except_does_not_hide_divergence_and_is_reported() -> None:
    async def hides(ctx: Any) -> str:
        await ctx.step("one", note)
        try:
            await ctx.step("second", note)
        except BaseException:
            return "swallowed"
        return "fine"

    world = change_code(two_and_nap, hides)
    assert world.view().workflow.status == "diverged"
    assert "swallowed the engine's signal" in world.said("signal_swallowed")[0]


def test_a_bare_except_that_eats_an_eviction_is_ignored_and_reported() -> None:
    async def hides(ctx: Any) -> str:
        try:
            await ctx.sleep("nap", 1000)
        except BaseException:
            return "swallowed"
        return "slept"

    world = world_of(hides)
    world.live(lambda host, actor: asyncio.sleep(1))
    assert world.view().workflow.status != "completed"
    assert len(world.said("signal_swallowed")) == 1
    world.live(to_the_end)
    assert world.view().workflow.output == "slept"


def test_a_name_used_twice_names_both_places() -> None:
    async def twice(ctx: Any) -> None:
        await ctx.step("same", note, "first")
        await ctx.step("same", note, "second")

    world = world_of(twice)
    world.live(to_the_end)
    view = world.view().workflow
    assert view.status == "diverged" and ran == ["first"]
    assert view.failure.message.count("test_divergence.py:") == 2


def test_the_same_name_in_another_iteration_is_another_entry() -> None:
    async def again(loop: Any, i: int) -> Any:
        await loop.step("same", note)
        return Loop.break_(i) if i == 3 else Loop.continue_(i + 1)

    async def flow(ctx: Any) -> Any:
        return await ctx.loop("l", again, state=0)

    assert ended(flow).output == 3


async def _gather(ctx: Any) -> None:
    await asyncio.gather(ctx.step("a", note, "a"), ctx.step("b", note, "b"))


async def _task(ctx: Any) -> None:
    await asyncio.create_task(ctx.step("a", note, "a"))


async def _group(ctx: Any) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(ctx.sleep("a", 1))


@pytest.mark.parametrize("concurrent", [_gather, _task, _group])
def test_verbs_in_other_tasks_are_refused_at_the_first_use(concurrent: Any) -> None:
    view = ended(concurrent)
    assert view.status == "failed" and view.entries == () and ran == []
    assert "in another task" in "".join(str(leaf) for leaf in view.failure.leaves())


def test_finally_blocks_run_in_place_with_verbs_refused() -> None:
    async def tidy(ctx: Any) -> None:
        try:
            await ctx.sleep("nap", 1000)
        finally:
            await asyncio.sleep(0)
            try:
                await ctx.step("cleanup", note, "cleanup")
            except Evicted:
                ran.append("refused")
                raise

    world = world_of(tidy)
    world.live(lambda host, actor: asyncio.sleep(1))
    assert ran == ["refused"] and [e.location for e in world.journal()] == ["nap"]
    world.live(to_the_end)
    assert ran == ["refused", "refused", "cleanup"] or ran == ["refused", "cleanup"]


@pytest.mark.parametrize("name", ["", "x" * 257, "a\nb", "\ud800", 5, None], ids=repr)
def test_bad_names_are_refused(name: Any) -> None:
    async def flow(ctx: Any) -> None:
        await ctx.step(name, note)

    assert ("a name in a workflow" if isinstance(name, str) else "the name comes first") in reason_of(
        ended(flow)
    )


@pytest.mark.parametrize("name", ["a/b", "~1", "%2F", "a b", "ünï", "~", "%7E", "[red]x[/]", "名"])
def test_any_other_name_will_do(name: str) -> None:
    async def flow(ctx: Any) -> Any:
        await ctx.step(name, note)
        await ctx.sleep("nap", 100)
        return "done"

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(1), clean=False)
    world.live(to_the_end)
    assert world.view().workflow.output == "done" and ran == [""]


def test_replaying_is_told_and_the_log_is_silent(caplog: Any) -> None:
    told: list[tuple[str, bool]] = []

    async def flow(ctx: Any) -> None:
        for i in range(3):
            told.append((f"before {i}", ctx.is_replaying))
            ctx.log.warning("iteration %s", i)
            await ctx.sleep(f"nap{i}", 1000)

    world = world_of(flow)
    with caplog.at_level("INFO", "rivetpy.actor"):
        world.live(to_the_end)
    assert [record.message for record in caplog.records] == ["iteration 0", "iteration 1", "iteration 2"]
    assert told[:3] == [("before 0", False), ("before 0", True), ("before 1", False)]


# -- errors that user code caught ------------------------------------------------------------------------


async def refuses(step: Any) -> None:
    raise CriticalError("no")


async def iteration(scope: Any, state: Any = None) -> Any:
    await scope.step("refuses", refuses)


async def unstorable(scope: Any, state: Any = None) -> Any:
    return Loop.continue_(object())


@pytest.mark.parametrize(
    "refused",
    [
        lambda ctx: ctx.loop("loop", iteration),
        lambda ctx: ctx.loop("loop", unstorable, state=1),
        lambda ctx: ctx.loop("loop", iteration, state=object()),
        lambda ctx: ctx.try_block("block", iteration, catch=("join",)),
        lambda ctx: ctx.try_block("block", lambda block: block.loop("loop", iteration), catch=("join",)),
        lambda ctx: ctx.queue.next("second"),
    ],
    ids=["loop", "next state", "first state", "block", "loop in a block", "message open"],
)
def test_what_went_on_after_an_error_it_caught_fits_its_journal(refused: Any) -> None:
    async def flow(ctx: Any) -> None:
        await ctx.queue.next("first", completable=True)
        with pytest.raises((RivetError, EncodeError, StepError)):
            await refused(ctx)
        await ctx.step("after", note, "after")
        await ctx.sleep("nap", 1e6)

    async def one_message(host: Host, actor_id: str) -> None:
        await host.send(actor_id, "work", QueueSend(1, idempotency_key="1"))
        await asyncio.sleep(10)

    world = world_of(flow)
    for _ in range(3):
        world.live(one_message, clean=False)
    assert ran == ["after"] and not world.said("run_diverged")
    assert {entry.location for entry in world.journal()} >= {"after", "nap"}


def test_nothing_new_begins_in_a_loop_that_an_error_had_left() -> None:
    async def before(ctx: Any) -> None:
        with pytest.raises(StepError):
            await ctx.loop("loop", iteration)
        await two_and_nap(ctx)

    async def went_on(scope: Any) -> Any:
        with pytest.raises(StepError):
            await iteration(scope)
        await scope.step("new", note, "new")

    async def after(ctx: Any) -> None:
        await ctx.loop("loop", went_on)

    world = change_code(before, after)
    assert ran == []
    (error,) = world.said("run_diverged")
    assert "'loop/~0/new'" in error and "the journal has step 'one' next" in error
