"""get_version, removed, and names that changed: other code under running workflows (spec workflows 8, 10)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rivetpy.host import Host
from rivetpy.wire.bodies import QueueSend
from rivetpy.workflow import Loop
from rivetpy.workflow.entries import StepEntry, VersionEntry
from tests.support.flows import Flow, define, ended, reason_of, to_the_end
from tests.support.world import World

ran: list[str] = []

BOTH_MODES = pytest.mark.parametrize("always_replay", [False, True], ids=["warm", "replay"])


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


async def note(step: Any, name: str = "", value: Any = None) -> Any:
    ran.append(name)
    return value


async def for_a_while(host: Host, actor_id: str) -> None:
    await host.drop_messages(actor_id, None)
    await asyncio.sleep(10)


async def tried_again(host: Host, actor_id: str) -> None:
    """A script that wakes a diverged workflow and waits for its end."""
    await for_a_while(host, actor_id)
    await to_the_end(host, actor_id)


def journal_rows(world: World) -> list[tuple[bytes, bytes]]:
    return [row for row in world.rows() if row[0].startswith(b"j")]


def loaded(directory: Path, name: str, source: str) -> Flow:
    """The workflow of a file, as an engine that starts after the file was saved has it."""
    path = directory / f"{name}.py"
    path.write_text(source)
    module: dict[str, Any] = {"note": note, "Loop": Loop}
    exec(compile(source, str(path), "exec"), module)
    run: Flow = module["run"]
    return run


# -- two files of one workflow ---------------------------------------------------------------------------

OLD = """
async def run(ctx):
    await ctx.step("charge", note, "charge v1")
    await ctx.sleep("first wait", 100)

    async def iteration(loop, seen):
        await loop.step("fetch", note, f"fetch v1 {len(seen)}")
        await loop.sleep("pause", 100)
        await loop.step("store", note, f"store {len(seen)}")
        seen = [*seen, 1]
        return Loop.break_(seen) if len(seen) == 4 else Loop.continue_(seen)

    seen = await ctx.loop("poll", iteration, state=[])
    await ctx.sleep("last wait", 100)
    await ctx.step("ship", note, "ship v1")
    return ["v1", seen]
"""

NEW = """
async def run(ctx):
    if await ctx.get_version("charging", 2) == 1:
        await ctx.step("charge", note, "charge v1")
    else:
        await ctx.step("charge by card", note, "charge v2")
    await ctx.sleep("first wait", 100)

    async def iteration(loop, seen):
        version = await loop.get_version("fetching", 2)
        if version == 1:
            await loop.step("fetch", note, f"fetch v1 {len(seen)}")
        else:
            await loop.step("fetch all", note, f"fetch v2 {len(seen)}")
        await loop.sleep("pause", 100)
        await loop.step("store", note, f"store {len(seen)}")
        seen = [*seen, version]
        return Loop.break_(seen) if len(seen) == 4 else Loop.continue_(seen)

    seen = await ctx.loop("poll", iteration, state=[])
    await ctx.sleep("last wait", 100)
    if await ctx.get_version("shipping", 2) == 1:
        await ctx.step("ship", note, "ship v1")
    else:
        await ctx.step("ship by air", note, "ship v2")
    return ["v2", seen]
"""


@BOTH_MODES
@pytest.mark.parametrize("changed_at", [0, 50, 150, 250, 350, 450, 550, 650])
def test_a_run_begun_under_one_file_finishes_under_the_next(
    tmp_path: Path, changed_at: int, always_replay: bool
) -> None:
    world = World(define(loaded(tmp_path, "old", OLD)), always_replay=always_replay)
    if changed_at:
        world.live(lambda host, actor: asyncio.sleep(changed_at))
    world.definition = define(loaded(tmp_path, "new", NEW))
    world.live(to_the_end)
    if changed_at > 600:  # it ended under the old file
        assert world.view().workflow.output == ["v1", [1, 1, 1, 1]]
        return
    # The iteration it was in had fetched; each one after it goes the new way.
    before = 0 if changed_at < 100 else min(4, changed_at // 100)
    versions = [1] * before + [2] * (4 - before)
    assert world.view().workflow.output == ["v2", [1] * before + versions[before:]]
    assert ran == [
        f"charge v{1 if changed_at else 2}",
        *[f"{what} {i}" for i, v in enumerate(versions) for what in (f"fetch v{v}", "store")],
        "ship v2",
    ]


def test_what_was_decided_stays_when_a_third_version_comes() -> None:
    def flow(latest: int) -> Flow:
        async def run(ctx: Any) -> Any:
            version = await ctx.get_version("gate", latest)
            await ctx.step(f"work {version}", note)
            await ctx.sleep(f"nap {latest}" if version == 3 else "nap", 100)
            return version

        return run

    world = World(define(flow(2)))
    world.live(for_a_while)
    world.definition = define(flow(3))
    world.live(to_the_end)
    assert world.view().workflow.output == 2


def test_code_older_than_the_decision_diverges() -> None:
    def flow(latest: int) -> Flow:
        async def run(ctx: Any) -> Any:
            version = await ctx.get_version("gate", latest)
            await ctx.step("work", note, "new" if latest == 1 else "")
            await ctx.sleep("nap", 1e6)
            return version

        return run

    world = World(define(flow(2)))
    world.live(for_a_while)
    rows = journal_rows(world)
    world.definition = define(flow(1))
    world.live(for_a_while)
    view = world.view().workflow
    assert view.status == "diverged" and "version 2" in view.failure.message and journal_rows(world) == rows


async def _sleeps(scope: Any) -> None:
    await scope.step("work", note, "work")
    await scope.sleep("nap", 100)


def nested(verb: str, inner: Any) -> Flow:
    """A workflow that runs ``inner`` within a verb, next to something finished."""

    async def run(ctx: Any) -> Any:
        await ctx.step("before", note, "before")
        if verb == "join":
            return (await ctx.join("it", {"a": inner, "b": _sleeps}))["a"]
        if verb == "race":
            return (await ctx.race("it", {"a": inner}))[1]
        if verb == "block":
            return (await ctx.try_block("it", inner)).value

        async def once(loop: Any) -> Any:
            return Loop.break_(await inner(loop))

        return await ctx.loop("it", once)

    return run


NESTED = pytest.mark.parametrize("verb", ["join", "race", "block", "loop"])


@NESTED
@BOTH_MODES
@pytest.mark.parametrize("passed", [False, True])
def test_a_gate_in_a_scope_asks_only_what_is_recorded_there(
    verb: str, passed: bool, always_replay: bool
) -> None:
    async def old(scope: Any) -> Any:
        if passed:
            await scope.step("mine", note, "mine v1")
        await scope.sleep("nap", 100)

    async def new(scope: Any) -> Any:
        await scope.sleep("nap", 100) if not passed else None
        version = await scope.get_version("gate", 2)
        await scope.step("mine", note, f"mine v{version}")
        await scope.sleep("nap", 100) if passed else None
        return version

    world = World(define(nested(verb, old)), always_replay=always_replay)
    world.live(for_a_while)
    world.definition = define(nested(verb, new))
    world.live(to_the_end)
    assert world.view().workflow.output == (1 if passed else 2)
    assert [name for name in ran if "mine" in name] == [f"mine v{1 if passed else 2}"]


@NESTED
@pytest.mark.parametrize("change", ["renamed", "removed", "inserted", "another kind"])
def test_a_change_in_a_scope_diverges_before_a_new_body_runs(verb: str, change: str) -> None:
    async def old(scope: Any) -> Any:
        await scope.step("one", note, "one")
        await scope.step("two", note, "two")
        await scope.sleep("nap", 1e6)

    async def new(scope: Any) -> Any:
        if change == "inserted":
            await scope.step("zero", note, "new body")
        await scope.step("one", note, "one")
        if change == "renamed":
            await scope.step("second", note, "new body")
        if change == "another kind":
            await scope.sleep("two", 1)
        if change == "removed":
            await scope.step("next", note, "new body")
        elif change == "inserted":
            await scope.step("two", note, "two")
        await scope.sleep("nap", 1e6)

    world = World(define(nested(verb, old)))
    world.live(for_a_while)
    rows = journal_rows(world)
    ran.clear()
    world.definition = define(nested(verb, new))
    world.live(for_a_while)
    world.live(for_a_while)
    view = world.view().workflow
    assert view.status == "diverged" and ran == [] and journal_rows(world) == rows
    place = "it/a/" if verb in ("join", "race") else "it/~0/" if verb == "loop" else "it/"
    assert f"'{place}" in view.failure.message and f"{Path(__file__).name}:" in view.failure.message
    world.definition = define(nested(verb, old))
    world.live(for_a_while)
    assert world.view().workflow.status == "sleeping" and ran == []


# -- removed ---------------------------------------------------------------------------------------------


async def _step(ctx: Any) -> None:
    await ctx.step("gone", note)


async def _sleep(ctx: Any) -> None:
    await ctx.sleep("gone", 1)


async def _unfinished_sleep(ctx: Any) -> None:
    await ctx.sleep("gone", 1e6)


async def _message(ctx: Any) -> None:
    await ctx.queue.next_batch("gone", timeout=1)


async def _loop(ctx: Any) -> None:
    async def once(loop: Any) -> Any:
        await loop.step("inner", note)
        return Loop.break_()

    await ctx.loop("gone", once)


async def _join(ctx: Any) -> None:
    await ctx.join("gone", {"a": _step})


async def _race(ctx: Any) -> None:
    await ctx.race("gone", {"a": _step})


async def _block(ctx: Any) -> None:
    await ctx.try_block("gone", _step)


async def _version(ctx: Any) -> None:
    await ctx.get_version("gone", 2)


async def _checkpoint(ctx: Any) -> None:
    await ctx.rollback_checkpoint("gone")


async def _recorded(ctx: Any) -> None:
    await ctx.now("gone")


REMOVED: list[tuple[str, Flow]] = [
    ("step", _step),
    ("sleep", _sleep),
    ("sleep", _unfinished_sleep),
    ("message", _message),
    ("loop", _loop),
    ("join", _join),
    ("race", _race),
    ("block", _block),
    ("version", _version),
    ("rollback_checkpoint", _checkpoint),
    ("step", _recorded),
]


@pytest.mark.parametrize(("kind", "verb"), REMOVED, ids=lambda value: getattr(value, "__name__", value))
@BOTH_MODES
def test_removed_stands_for_every_kind(kind: str, verb: Flow, always_replay: bool) -> None:
    async def old(ctx: Any) -> Any:
        await verb(ctx)
        await ctx.step("after", note, "after")
        await ctx.sleep("nap", 100)

    async def new(ctx: Any) -> Any:
        await ctx.removed("gone", kind)
        await ctx.step("after", note, "after")
        await ctx.sleep("nap", 100)
        return "new"

    async def without(ctx: Any) -> Any:
        await ctx.step("after", note, "after")

    world = World(define(old), always_replay=always_replay)
    world.live(for_a_while)
    world.definition = define(without)
    world.live(for_a_while)
    assert world.view().workflow.status == "diverged"
    world.definition = define(new)
    world.live(tried_again)
    assert world.view().workflow.output == "new" and ran.count("after") == 1


def test_removed_is_nothing_where_nothing_was_and_a_message_it_held_waits_again() -> None:
    async def old(ctx: Any) -> Any:
        message = await ctx.queue.next("gone", completable=True)
        await ctx.sleep("nap", 1e6)
        await message.complete()

    async def new(ctx: Any) -> Any:
        await ctx.removed("never there", "step")
        await ctx.removed("gone", "message")
        await ctx.removed("nap", "sleep")
        message = await ctx.queue.next("again", timeout=10, completable=True)
        await message.complete()
        return message.body

    async def send(host: Host, actor_id: str) -> None:
        await host.send(actor_id, "work", QueueSend("precious"))
        await asyncio.sleep(10)

    world = World(define(old))
    world.live(send)
    world.definition = define(new)
    world.live(to_the_end)
    assert world.view().workflow.output == "precious" and world.view().queue == ()


@pytest.mark.parametrize("kind", ["steps", "", "iteration", None])
def test_a_kind_that_never_was_is_refused(kind: Any) -> None:
    async def flow(ctx: Any) -> None:
        await ctx.removed("gone", kind)

    assert "original_type is one of step, loop," in reason_of(ended(flow))


def test_a_wrong_kind_and_a_name_used_twice_diverge() -> None:
    async def old(ctx: Any) -> None:
        await ctx.step("gone", note)
        await ctx.sleep("nap", 1e6)

    async def wrong(ctx: Any) -> None:
        await ctx.removed("gone", "sleep")
        await ctx.sleep("nap", 1e6)

    async def twice(ctx: Any) -> None:
        await ctx.removed("gone", "step")
        await ctx.step("gone", note, "new")
        await ctx.sleep("nap", 1e6)

    world = World(define(old))
    world.live(for_a_while)
    rows = journal_rows(world)
    ran.clear()
    for flow in (wrong, twice):
        world.definition = define(flow)
        world.live(for_a_while)
        assert world.view().workflow.status == "diverged"
    assert journal_rows(world) == rows and ran == []


@pytest.mark.parametrize("latest", [0, -1, True, 1.5, "2", None], ids=repr)
def test_senseless_versions_are_refused(latest: Any) -> None:
    async def flow(ctx: Any) -> None:
        await ctx.get_version("gate", latest)

    view = ended(flow)
    assert "latest is a whole number from 1" in reason_of(view) and view.entries == ()


def test_a_gate_costs_no_write() -> None:
    async def flow(ctx: Any) -> Any:
        for i in range(9):
            assert await ctx.get_version(f"gate {i}", i + 1) == i + 1
        await ctx.step("work", note)

    world = World(define(flow))
    world.live(to_the_end)
    kinds = [type(entry) for entry in world.journal()]
    assert kinds == [VersionEntry] * 9 + [StepEntry]
    assert world.commits <= 4  # the actor, the step, the end, and the leave
