"""join: all branches finish, their failures by branch, nothing left behind (spec workflows 8)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rivetpy.host import Host
from rivetpy.workflow import JoinError
from rivetpy.workflow.entries import JoinEntry
from tests.support.flows import define, ended, reason_of, to_the_end, world_of
from tests.support.world import World, until

ran: list[str] = []

BOTH_MODES = pytest.mark.parametrize("always_replay", [False, True], ids=["warm", "replay"])


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


async def note(step: Any, name: str, value: Any = None) -> Any:
    ran.append(name)
    return value


async def fails(step: Any) -> None:
    raise ValueError("broken")


def at_once(branch: Any) -> Any:
    raise ValueError("at once")


async def done_late(branch: Any) -> Any:
    await branch.sleep("nap", 100)
    return await branch.step("work", note, "late", "L")


async def for_a_while(host: Host, actor_id: str) -> None:
    await host.drop_messages(actor_id, None)
    await asyncio.sleep(10)


def journal_rows(world: World) -> list[tuple[bytes, bytes]]:
    return [row for row in world.rows() if row[0].startswith(b"j")]


@BOTH_MODES
def test_a_failure_ends_no_other_branch(always_replay: bool) -> None:
    async def flow(ctx: Any) -> Any:
        try:
            await ctx.join("all", {"bad": at_once, "good": done_late})
        except JoinError as error:
            return [list(error.errors), error.errors["bad"].type, error.errors["bad"].message]

    world = world_of(flow, always_replay=always_replay)
    world.live(to_the_end)
    assert world.view().workflow.output == [["bad"], "ValueError", "at once"]
    assert ran == ["late"]


def test_errors_are_by_branch_and_read_the_same_after_a_restart() -> None:
    told: list[Any] = []

    async def bad(branch: Any) -> Any:
        await branch.step("broken", fails, max_retries=1)

    async def flow(ctx: Any) -> Any:
        try:
            await ctx.join("all", {"one": bad, "fine": done_late, "two": at_once})
        except JoinError as error:
            told.append((str(error), error.errors, list(error.errors)))
        await ctx.sleep("nap", 1e6)

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(1000))
    world.live(for_a_while)
    assert told[0] == told[1] and told[0][2] == ["one", "two"]
    assert "2 branches of join 'all' failed" in told[0][0]
    assert told[0][1]["one"].location == "all/one/broken"


def test_an_unhandled_join_error_fails_the_workflow_with_every_leaf() -> None:
    async def bad(branch: Any) -> Any:
        await branch.step("broken", fails, max_retries=0)

    async def flow(ctx: Any) -> Any:
        await ctx.join("all", {"one": bad, "two": at_once})

    view = ended(flow)
    assert reason_of(view).startswith("JoinError")
    assert {leaf.message for leaf in view.failure.leaves()} == {"broken", "at once"}


def test_a_group_in_a_branch_fails_it_with_its_leaves_and_leaves_no_task() -> None:
    left: list[str] = []

    async def sleeps(step: Any) -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            left.append("cleaned")

    async def grouped(step: Any) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(sleeps(step))
            group.create_task(fails(step))

    async def branch(b: Any) -> Any:
        await b.step("group", grouped, max_retries=0)

    async def flow(ctx: Any) -> Any:
        await ctx.join("all", {"only": branch})

    async def script(host: Host, actor_id: str) -> set[str]:
        await until(host, actor_id)
        return {task.get_name() for task in asyncio.all_tasks() if "branch" in task.get_name()}

    world = world_of(flow)
    assert world.live(script) == set() and left == ["cleaned"]
    view = world.view().workflow
    assert view.status == "failed" and "broken" in {leaf.message for leaf in view.failure.leaves()}


@BOTH_MODES
def test_a_crash_runs_only_what_is_left(always_replay: bool) -> None:
    async def quick(branch: Any) -> Any:
        return await branch.step("work", note, "quick", "Q")

    async def flow(ctx: Any) -> Any:
        return await ctx.join("all", {"late": done_late, "quick": quick})

    world = world_of(flow, always_replay=always_replay)
    world.live(lambda host, actor: asyncio.sleep(1), clean=False)
    world.live(to_the_end)
    assert world.view().workflow.output == {"late": "L", "quick": "Q"}
    assert ran == ["quick", "late"]


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}], ids=repr)
def test_empty_results_are_results_and_functions_need_not_be_async(value: Any) -> None:
    async def flow(ctx: Any) -> Any:
        return await ctx.join("all", {"a": lambda branch: value})

    assert ended(flow).output == {"a": value}


def test_a_result_that_cannot_be_kept_fails_its_branch() -> None:
    async def flow(ctx: Any) -> Any:
        await ctx.join("all", {"a": lambda branch: [object()], "b": lambda branch: 1})

    reason = reason_of(ended(flow))
    assert "1 branch of join 'all' failed: a: " in reason and "$[0]" in reason


@pytest.mark.parametrize(
    ("branches", "says"),
    [
        ({}, "a dict of functions"),
        ([1], "a dict of functions"),
        (None, "a dict of functions"),
        ({"a": 5}, "branch 'a' is not a function"),
        ({"": note}, "a name in a workflow"),
    ],
    ids=["empty", "list", "None", "no function", "no name"],
)
@pytest.mark.parametrize("verb", ["join", "race"])
def test_branches_that_are_none_are_refused(verb: str, branches: Any, says: str) -> None:
    async def flow(ctx: Any) -> Any:
        await getattr(ctx, verb)("all", branches)

    view = ended(flow)
    assert (says in reason_of(view) and f"{verb} 'all'" in reason_of(view)) or "name in a" in reason_of(view)
    assert view.entries == ()


@pytest.mark.parametrize("verb", ["join", "race"])
@pytest.mark.parametrize("names", [("a",), ("a", "b", "c"), ("a", "c")], ids=repr)
def test_other_branches_of_an_unfinished_one_diverge(verb: str, names: tuple[str, ...]) -> None:
    async def sleeps(branch: Any) -> Any:
        await branch.sleep("nap", 1e6)

    async def noted(branch: Any) -> Any:
        await branch.step("work", note, "new branch")
        await sleeps(branch)

    async def before(ctx: Any) -> Any:
        await getattr(ctx, verb)("all", {"a": sleeps, "b": sleeps})

    async def after(ctx: Any) -> Any:
        await getattr(ctx, verb)("all", {name: sleeps if name in "ab" else noted for name in names})

    world = World(define(before))
    world.live(for_a_while)
    rows = journal_rows(world)
    world.definition = define(after)
    world.live(for_a_while)
    view = world.view().workflow
    assert view.status == "diverged" and ran == [] and journal_rows(world) == rows
    assert f"branches {sorted(names)}" in view.failure.message and "['a', 'b']" in view.failure.message
    assert "test_join.py:" in view.failure.message


def test_a_finished_join_does_not_ask_for_the_same_branches() -> None:
    async def before(ctx: Any) -> Any:
        got = await ctx.join("all", {"a": lambda branch: 1, "b": lambda branch: 2})
        await ctx.sleep("nap", 100)
        return got

    async def after(ctx: Any) -> Any:
        got = await ctx.join("all", {"a": at_once})
        await ctx.sleep("nap", 100)
        return got

    world = World(define(before))
    world.live(for_a_while)
    world.definition = define(after)
    world.live(to_the_end)
    assert world.view().workflow.output == {"a": 1, "b": 2}


def test_the_contexts_of_branches_are_not_mixed_up() -> None:
    contexts: list[Any] = []

    async def outer(branch: Any) -> Any:
        contexts.append(branch)
        await branch.sleep("nap", 10)

    async def thief(branch: Any) -> Any:
        await contexts[0].step("stolen", note, "stolen")

    async def own(ctx: Any) -> Any:
        async def uses_ctx(branch: Any) -> Any:
            await ctx.step("outside", note, "outside")

        await ctx.join("all", {"outer": outer, "thief": thief, "uses": uses_ctx})

    view = ended(own)
    assert view.status == "failed" and ran == []
    [join] = [entry for entry in view.entries if isinstance(entry, JoinEntry)]
    assert [branch.status for branch in join.branches.values()] == ["completed", "failed", "failed"]


@BOTH_MODES
def test_an_eviction_swallowed_in_a_branch_is_no_result(always_replay: bool) -> None:
    async def hides(branch: Any) -> Any:
        try:
            await branch.sleep("nap", 1000)
        except BaseException:
            return "swallowed"
        return "slept"

    async def flow(ctx: Any) -> Any:
        return await ctx.join("all", {"a": hides, "b": hides})

    world = world_of(flow, always_replay=always_replay)
    world.live(lambda host, actor: asyncio.sleep(1))
    assert len(world.said("signal_swallowed")) >= 1
    world.live(to_the_end)
    assert world.view().workflow.output == {"a": "slept", "b": "slept"}


@pytest.mark.parametrize("verb", ["join", "race"])
def test_an_eviction_lets_the_steps_of_all_branches_finish(verb: str) -> None:
    async def works(step: Any) -> str:
        await asyncio.sleep(3)
        ran.append("worked")
        return "W"

    async def working(branch: Any) -> Any:
        return await branch.step("work", works)

    async def waiting(branch: Any) -> Any:
        await branch.sleep("nap", 1000)

    async def flow(ctx: Any) -> Any:
        await getattr(ctx, verb)("all", {"waiting": waiting, "working": working})

    async def script(host: Host, actor_id: str) -> None:
        await asyncio.sleep(1)
        await host.sleep(actor_id)

    world = world_of(flow)
    world.live(script)
    assert ran == ["worked"] and world.recorded_steps() == {"all/working/work"}
    world.live(for_a_while)
    assert ran == ["worked"]


def test_an_eviction_that_has_to_cancel_leaves_no_task() -> None:
    async def hangs(step: Any) -> None:
        try:
            await asyncio.sleep(1e6)
        finally:
            await asyncio.sleep(0.1)
            ran.append("cleaned")

    async def hanging(branch: Any) -> Any:
        await branch.step("hang", hangs, timeout=None)

    async def nested(branch: Any) -> Any:
        await branch.join("inner", {"a": hanging, "b": hanging})

    async def flow(ctx: Any) -> Any:
        await ctx.join("all", {"nested": nested, "waits": done_late})

    async def script(host: Host, actor_id: str) -> list[str]:
        await asyncio.sleep(1)
        await host.sleep(actor_id)
        return [task.get_name() for task in asyncio.all_tasks() if "branch" in task.get_name()]

    assert World(define(flow, sleep_grace_period=2)).live(script) == []
    assert ran == ["cleaned", "cleaned"]
