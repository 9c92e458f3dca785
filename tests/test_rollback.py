"""rollback: handlers in reverse order, each once, whatever is killed in between (spec workflows 9)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from rivetpy.host import Host
from rivetpy.workflow import JoinError, Loop, RaceError, RollbackError
from rivetpy.workflow.entries import LoopEntry, StepEntry
from tests.support.flows import Flow, define, ended, reason_of, to_the_end, world_of
from tests.support.world import Died, World, plain

ran: list[str] = []
broken: set[str] = set()

BOTH_MODES = pytest.mark.parametrize("always_replay", [False, True], ids=["warm", "replay"])


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    ran.clear()
    broken.clear()
    yield
    broken.clear()


async def do(step: Any, name: str) -> str:
    await asyncio.sleep(0.01)
    step.state["n"] += 1
    ran.append(f"do {name}")
    return name


async def undo(step: Any, output: str) -> None:
    await asyncio.sleep(0.01)
    if output in broken:
        raise ValueError(f"can't undo {output}")
    step.state["n"] -= 1
    ran.append(f"undo {output}")


async def refuse(step: Any) -> None:
    raise RollbackError("enough")


async def for_a_while(host: Host, actor_id: str) -> None:
    await host.drop_messages(actor_id, None)
    await asyncio.sleep(10)


async def add(ctx: Any, name: str) -> None:
    await ctx.step(name, do, name, rollback=undo)


async def in_a_row(ctx: Any) -> None:
    await ctx.rollback_checkpoint("from here")
    for name in "abc":
        await add(ctx, name)
    raise ValueError("enough")


async def asked_for_by_a_step(ctx: Any) -> None:
    await ctx.rollback_checkpoint("from here")
    for name in "abc":
        await add(ctx, name)
    await ctx.step("refuse", refuse)


async def in_a_loop(ctx: Any) -> None:
    async def again(loop: Any, i: int) -> Any:
        await add(loop, "abc"[i])
        await loop.sleep("nap", 1)
        if i == 2:
            raise ValueError("enough")
        return Loop.continue_(i + 1)

    await ctx.rollback_checkpoint("from here")
    await ctx.loop("l", again, state=0)


async def in_a_loop_that_ended(ctx: Any) -> None:
    async def again(loop: Any, i: int) -> Any:
        await add(loop, "abc"[i])
        return Loop.break_(i) if i == 2 else Loop.continue_(i + 1)

    await ctx.rollback_checkpoint("from here")
    await ctx.loop("l", again, state=0)
    raise ValueError("enough")


async def in_branches(ctx: Any) -> None:
    def branch(name: str, seconds: float) -> Any:
        async def run(b: Any) -> None:
            await b.sleep("nap", seconds)
            await add(b, name)
            if name == "b":
                raise ValueError("enough")

        return run

    await ctx.rollback_checkpoint("from here")
    await ctx.join("j", {"three": branch("c", 30), "two": branch("b", 20), "one": branch("a", 10)})


async def in_the_winner(ctx: Any) -> None:
    async def winner(b: Any) -> None:
        for name in "abc":
            await add(b, name)

    async def loser(b: Any) -> None:
        await b.sleep("nap", 1e6)

    await ctx.rollback_checkpoint("from here")
    await ctx.race("r", {"loser": loser, "winner": winner})
    raise ValueError("enough")


async def in_a_race_that_all_lost(ctx: Any) -> None:
    def branch(name: str, seconds: float) -> Any:
        async def run(b: Any) -> None:
            await b.sleep("nap", seconds)
            await add(b, name)
            raise ValueError(name)

        return run

    await ctx.rollback_checkpoint("from here")
    await ctx.race("r", {"three": branch("c", 30), "two": branch("b", 20), "one": branch("a", 10)})


async def in_blocks(ctx: Any) -> None:
    async def fails(b: Any) -> None:
        await add(b, "a")
        raise ValueError("caught")

    async def works(b: Any) -> None:
        await add(b, "b")

    await ctx.rollback_checkpoint("from here")
    await ctx.try_block("fails", fails, catch=("block",))
    await ctx.try_block("works", works)
    await add(ctx, "c")
    raise ValueError("enough")


async def behind_a_gate(ctx: Any) -> None:
    await ctx.rollback_checkpoint("from here")
    await add(ctx, "a")
    await ctx.removed("gone", "step")
    if await ctx.get_version("gate", 2) == 2:
        await add(ctx, "b")
    await ctx.now("when")
    await add(ctx, "c")
    await ctx.get_version("last gate", 2)
    raise ValueError("enough")


async def after_other_failures(ctx: Any) -> None:
    def bad(branch: Any) -> None:
        raise ValueError("caught")

    await ctx.rollback_checkpoint("from here")
    await add(ctx, "a")
    try:
        await ctx.join("j", {"bad": bad})
    except JoinError:
        await add(ctx, "b")
    try:
        await ctx.race("r", {"bad": bad})
    except RaceError:
        await add(ctx, "c")
    await ctx.try_step("refuse", refuse, catch=("rollback",))
    raise ValueError("enough")


FLOWS: list[Flow] = [
    in_a_row,
    asked_for_by_a_step,
    in_a_loop,
    in_a_loop_that_ended,
    in_branches,
    in_the_winner,
    in_a_race_that_all_lost,
    in_blocks,
    behind_a_gate,
    after_other_failures,
]
EVERY_FLOW = pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.__name__)
FORWARD, BACK = ["do a", "do b", "do c"], ["undo c", "undo b", "undo a"]


@EVERY_FLOW
@BOTH_MODES
def test_handlers_run_in_reverse_order_of_completion(flow: Flow, always_replay: bool) -> None:
    world = world_of(flow, always_replay=always_replay)
    world.live(to_the_end)
    view = world.view()
    assert view.workflow.status == "failed" and view.workflow.rollback_failure is None
    assert ran == FORWARD + BACK and view.state == {"n": 0}
    steps = [entry for entry in world.journal() if isinstance(entry, StepEntry) and entry.done is not None]
    assert len(steps) == 3 and all(entry.rolled_back_at is not None for entry in steps)


@EVERY_FLOW
@BOTH_MODES
def test_a_kill_at_every_write_resumes_with_the_handlers_not_done(flow: Flow, always_replay: bool) -> None:
    reference = world_of(flow, always_replay=always_replay)
    reference.live(to_the_end)
    expected = plain(reference.journal(), crashed=True, differs={"when"})
    for number in range(1, reference.commits + 1):
        for when in ("die_before", "die_after"):
            ran.clear()
            world = world_of(flow, always_replay=always_replay)
            with pytest.raises(Died):
                world.live(to_the_end, **{when: number})
            undone = rolled_back(world)
            killed = len(ran)
            world.live(to_the_end)
            assert world.view().workflow.status == "failed" and world.view().state == {"n": 0}, number
            assert plain(world.journal(), crashed=True, differs={"when"}) == expected, number
            backwards = [name for name in ran if name.startswith("undo")]
            assert list(dict.fromkeys(backwards)) == BACK, number
            assert not undone & set(ran[killed:]), f"{number}: a recorded handler ran again"
            if undone:
                assert not [name for name in ran[killed:] if name.startswith("do")], number


def rolled_back(world: World) -> set[str]:
    """The handlers that are recorded."""
    try:
        entries = world.journal()
    except AssertionError:
        return set()
    steps = [entry for entry in entries if isinstance(entry, StepEntry) and entry.rolled_back_at is not None]
    return {f"undo {entry.name}" for entry in steps}


@BOTH_MODES
def test_a_handler_that_raises_ends_it_and_leaves_the_rest(always_replay: bool) -> None:
    broken.add("b")
    world = world_of(in_a_row, always_replay=always_replay)
    world.live(to_the_end)
    view = world.view().workflow
    assert view.status == "failed" and "enough" in str(view.failure)
    assert str(view.rollback_failure) == "ValueError: can't undo b"
    assert ran == [*FORWARD, "undo c"]
    a, b, c = [entry for entry in world.journal() if isinstance(entry, StepEntry)]
    assert (a.rolled_back_at, b.rolled_back_at) == (None, None) and c.rolled_back_at is not None
    assert str(b.rollback_failure) == "ValueError: can't undo b" and a.rollback_failure is None


def test_a_state_that_a_handler_left_and_that_cannot_be_kept_is_its_failure() -> None:
    async def spoils(step: Any, output: str) -> None:
        step.state["n"] = object()

    async def flow(ctx: Any) -> None:
        await ctx.rollback_checkpoint("from here")
        await ctx.step("a", do, "a", rollback=spoils)
        raise ValueError("enough")

    view = ended(flow)
    assert view.status == "failed" and "state.n: " in str(view.rollback_failure)


def test_what_failed_is_not_undone_and_a_step_without_a_handler_neither() -> None:
    async def fails(step: Any) -> None:
        raise ValueError("fails")

    async def flow(ctx: Any) -> None:
        await ctx.rollback_checkpoint("from here")
        await ctx.step("plain", do, "plain")
        await ctx.try_step("failed", fails, rollback=undo, max_retries=0)
        await add(ctx, "a")
        raise ValueError("enough")

    ended(flow)
    assert ran == ["do plain", "do a", "undo a"]


def test_steps_before_the_checkpoint_may_not_have_handlers() -> None:
    async def flow(ctx: Any) -> None:
        await ctx.step("early", do, "early", rollback=undo)

    view = ended(flow)
    assert "rollback_checkpoint('…')" in reason_of(view) and ran == [] and view.entries == ()


@BOTH_MODES
def test_a_checkpoint_in_a_scope_that_is_over_arms_nothing_more_but_its_steps_are_undone(
    always_replay: bool,
) -> None:
    """A replay does not go through a finished scope again, so only this can be the same on every pass."""

    async def armed(branch: Any) -> None:
        await branch.rollback_checkpoint("here")
        await branch.try_block("deeper", lambda block: add(block, "a"))

    async def flow(ctx: Any) -> None:
        await ctx.try_block("b", armed)
        await ctx.sleep("nap", 100)
        await add(ctx, "b")

    world = world_of(flow, always_replay=always_replay)
    world.live(for_a_while)
    world.live(to_the_end)
    assert "RollbackCheckpointError" in reason_of(world.view().workflow) and ran == ["do a", "undo a"]


def test_a_loops_position_does_not_move() -> None:
    world = world_of(in_a_loop)
    world.live(to_the_end)
    [loop] = [entry for entry in world.journal() if isinstance(entry, LoopEntry)]
    assert (loop.iteration, loop.status) == (2, "running")


def test_nothing_forward_is_begun_though_the_code_goes_on() -> None:
    """In the pass that collects the handlers, code that catches what failed the run must not go further."""
    times = 0

    async def flow(ctx: Any) -> None:
        nonlocal times
        times += 1
        await ctx.rollback_checkpoint("from here")
        await add(ctx, "a")
        if times == 1:
            raise ValueError("only the first time")
        await ctx.step("further", do, "further")

    world = world_of(flow)
    world.live(to_the_end)
    assert ran == ["do a", "undo a"] and world.recorded_steps() == {"a"}
    assert world.view().workflow.status == "failed"


async def naps(ctx: Any) -> None:
    await ctx.rollback_checkpoint("from here")
    await add(ctx, "a")
    await ctx.sleep("nap", 1e6)


async def naps_elsewhere(ctx: Any) -> None:
    await ctx.rollback_checkpoint("from here")
    await add(ctx, "a")
    await ctx.sleep("another nap", 1e6)


@pytest.mark.parametrize(("after", "status"), [(naps, "sleeping"), (naps_elsewhere, "diverged")])
def test_no_rollback_on_eviction_and_divergence(after: Flow, status: str) -> None:
    world = World(define(naps))
    world.live(for_a_while)
    world.definition = define(after)
    world.live(for_a_while)
    assert ran == ["do a"] and world.view().workflow.status == status


def test_code_that_changed_while_it_was_rolled_back_diverges_and_keeps_what_was_done() -> None:
    async def renamed(ctx: Any) -> None:
        await ctx.rollback_checkpoint("from here")
        for name in "axc":
            await add(ctx, name)

    world = World(define(in_a_row))
    with pytest.raises(Died):
        world.live(to_the_end, die_after=6)
    assert world.view().workflow.status == "rolling_back"
    before = [row for row in world.rows() if row[0].startswith(b"j")]
    world.definition = define(renamed)
    world.live(for_a_while)
    assert world.view().workflow.status == "diverged"
    assert [row for row in world.rows() if row[0].startswith(b"j")] == before


def test_a_handler_has_its_own_identity_and_may_be_a_def() -> None:
    keys: list[str] = []

    async def keep(step: Any) -> str:
        keys.append(step.idempotency_key)
        return "out"

    def give_back(step: Any, output: str) -> None:
        keys.append(step.idempotency_key)
        ran.append(output)

    async def flow(ctx: Any) -> None:
        await ctx.rollback_checkpoint("from here")
        await ctx.step("a", keep, rollback=give_back)
        raise ValueError("enough")

    ended(flow)
    assert ran == ["out"] and len(set(keys)) == 2


def test_what_was_done_after_a_crash_is_undone_before_what_branches_did() -> None:
    names = "abcde"

    def branch(name: str) -> Any:
        return lambda scope: scope.step("do", do, name, rollback=undo)

    async def flow(ctx: Any) -> None:
        await ctx.rollback_checkpoint("armed")
        await ctx.join("all", {name: branch(name) for name in names})
        await ctx.step("later", do, "later", rollback=undo)
        await ctx.step("refuse", refuse)

    cut = 1
    while True:
        ran.clear()
        world = world_of(flow)
        try:
            world.live(to_the_end, die_before=cut)
        except Died:
            world.live(to_the_end)
        else:
            break
        done = list(dict.fromkeys(what for what in ran if what.startswith("undo")))
        assert done[0] == "undo later" and len(done) == len(names) + 1, cut
        cut += 1
    assert cut > len(names)


@pytest.mark.parametrize("always_replay", [False, True], ids=["warm", "replay"])
def test_a_handler_that_kills_the_engine_is_given_up_and_begins_anew_with_a_recover(
    always_replay: bool,
) -> None:
    starts: list[int] = []
    deadly = [True]

    async def undo_deadly(step: Any, output: str) -> None:
        starts.append(step.attempt)
        if deadly:
            await asyncio.sleep(1e6)

    async def flow(ctx: Any) -> None:
        await ctx.rollback_checkpoint("from here")
        await add(ctx, "first")
        await ctx.step("deadly", do, "deadly", rollback=undo_deadly)
        await ctx.step("no", refuse)

    world = world_of(flow, always_replay=always_replay)
    for _ in range(4):
        world.live(lambda host, actor: asyncio.sleep(1), clean=False)
    world.live(to_the_end)
    workflow = world.view().workflow
    assert starts == [1, 2, 3, 4]
    assert workflow.status == "failed" and workflow.rollback_failure.type == "EngineCrash"
    assert "counted as attempt 4 of 4" in world.said("rollback_crashed")[-1]
    assert "undo first" not in ran, "what was done before is left for a recover"
    deadly.clear()

    async def recover(host: Host, actor_id: str) -> None:
        await host.recover(actor_id)
        await to_the_end(host, actor_id)

    world.live(recover)
    assert starts == [1, 2, 3, 4, 1]
    assert ran[-1] == "undo first" and world.view().workflow.rollback_failure is None
