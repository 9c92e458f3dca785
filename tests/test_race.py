"""race: the first to complete wins, the others are really cancelled (spec workflows 8)."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from rivetpy.host import Host
from rivetpy.wire.bodies import QueueSend
from rivetpy.workflow import CriticalError, RaceError
from tests.support.flows import define, ended, reason_of, to_the_end, world_of
from tests.support.world import World, plain, until

ran: list[str] = []

BOTH_MODES = pytest.mark.parametrize("always_replay", [False, True], ids=["warm", "replay"])


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()


async def note(step: Any, name: str, value: Any = None) -> Any:
    ran.append(name)
    return value


async def quick(branch: Any) -> Any:
    await branch.sleep("nap", 5)
    return "won"


async def hangs(step: Any) -> None:
    try:
        await asyncio.sleep(1e6)
    finally:
        await asyncio.sleep(0.01)
        ran.append("cleaned")


def race(**branches: Any) -> Any:
    """A workflow that races, tells what tasks were left, and naps."""

    async def flow(ctx: Any) -> Any:
        result = await ctx.race("first", branches)
        left = [task.get_name() for task in asyncio.all_tasks() if "branch first" in task.get_name()]
        await ctx.step("after", note, "after")
        return [*result, left]

    return flow


async def in_a_step(branch: Any) -> Any:
    await branch.step("hang", hangs, timeout=None)


async def in_a_join(branch: Any) -> Any:
    await branch.join("inner", {"a": in_a_step, "b": in_a_step})


async def in_a_race(branch: Any) -> Any:
    await branch.race("inner", {"a": in_a_step, "b": in_a_join})


async def in_a_loop(branch: Any) -> Any:
    await branch.loop("l", in_a_step)


async def in_a_block(branch: Any) -> Any:
    return await branch.try_block("b", in_a_step, catch=("step", "join", "race", "block"))


async def in_plain_code(branch: Any) -> Any:
    await branch.step("begin", note, "begun")
    try:
        await branch.sleep("nap", 1e6)
    finally:
        await asyncio.sleep(0)
        ran.append("cleaned")


@pytest.mark.parametrize(
    ("loser", "cleaned"),
    [(in_a_step, 1), (in_a_join, 2), (in_a_race, 3), (in_a_loop, 1), (in_a_block, 1), (in_plain_code, 1)],
)
@BOTH_MODES
def test_losers_are_gone_when_race_returns(loser: Any, cleaned: int, always_replay: bool) -> None:
    world = world_of(race(loser=loser, quick=quick), always_replay=always_replay)
    world.live(to_the_end)
    assert world.view().workflow.output == ["quick", "won", []]
    assert ran[-cleaned - 1 :] == ["cleaned"] * cleaned + ["after"]
    assert not [e.location for e in world.journal() if e.location.startswith("first/loser")]
    first = next(item for item in plain(world.journal()) if item["at"] == "first")
    assert first["winner"] == "quick" and first["branches"]["loser"] == ("cancelled", None, None)


def test_a_blocking_body_is_told_and_its_late_result_thrown_away() -> None:
    told = threading.Event()

    def blocks(step: Any) -> str:
        while not step.abort.is_set():
            time.sleep(0.001)
        told.set()
        return "late"

    async def loser(branch: Any) -> Any:
        return await branch.step("blocks", blocks, timeout=None)

    async def soon(branch: Any) -> Any:
        await branch.sleep("nap", 0.05)
        return "won"

    world = world_of(race(loser=loser, soon=soon))
    world.live(to_the_end)
    assert told.wait(5) and world.view().workflow.output == ["soon", "won", []]
    assert "late" not in str(plain(world.journal()))


def test_a_loser_that_swallows_its_cancellation_lost_all_the_same() -> None:
    async def stubborn(step: Any) -> str:
        step.state["n"] += 1
        await step.queue.send("work", "from a loser")
        try:
            await asyncio.sleep(1e6)
        except asyncio.CancelledError:
            ran.append("swallowed")
        return "I won"

    async def loser(branch: Any) -> Any:
        try:
            got = await branch.step("stubborn", stubborn, timeout=None)
            ran.append(f"went on with {got}")
        except BaseException:
            ran.append("ended")
        try:
            await branch.step("more", note, "more")
        except BaseException:
            ran.append("refused")
        return "I won"

    world = world_of(race(loser=loser, quick=quick))
    world.live(to_the_end)
    assert world.view().workflow.output == ["quick", "won", []]
    assert ran == ["swallowed", "ended", "refused", "after"]
    assert world.view().queue == (), "what a loser sent was sent"
    assert not [e.location for e in world.journal() if e.location.startswith("first/loser")]


def test_what_a_losing_step_had_in_hand_holds_up_no_action() -> None:
    async def touches(step: Any) -> None:
        step.state["n"] += 1
        await asyncio.sleep(1e6)

    async def loser(branch: Any) -> Any:
        await branch.step("touches", touches, timeout=None)

    async def flow(ctx: Any) -> Any:
        await ctx.race("first", {"loser": loser, "quick": quick})
        await ctx.sleep("nap", 1000)

    async def add(c: Any) -> int:
        await asyncio.sleep(0)
        c.state["n"] += 10
        return int(c.state["n"])

    async def script(host: Host, actor_id: str) -> Any:
        await asyncio.sleep(20)
        return await host.call(actor_id, "add", [])

    assert World(define(flow, actions={"add": add})).live(script) == 11


async def holds(branch: Any) -> Any:
    message = await branch.queue.next("take", names=["work"], completable=True)
    ran.append(f"held {message.body}")
    await branch.sleep("think", 1e6)
    await message.complete()


async def holds_in_a_join(branch: Any) -> Any:
    await branch.join("inner", {"only": holds})


async def holds_in_a_race(branch: Any) -> Any:
    await branch.race("inner", {"only": holds})


async def holds_in_a_loop(branch: Any) -> Any:
    await branch.loop("l", holds)


async def held_by_a_branch_that_ended(branch: Any) -> Any:
    async def ends(inner: Any) -> Any:
        await inner.queue.next("take", names=["work"], completable=True)

    await branch.join("inner", {"ends": ends})
    await branch.sleep("think", 1e6)


@pytest.mark.parametrize(
    "loser", [holds, holds_in_a_join, holds_in_a_race, holds_in_a_loop, held_by_a_branch_that_ended]
)
@BOTH_MODES
def test_messages_that_losers_held_can_be_received_again(loser: Any, always_replay: bool) -> None:
    async def flow(ctx: Any) -> Any:
        winner, _ = await ctx.race("first", {"loser": loser, "quick": quick})
        message = await ctx.queue.next("again", completable=True, timeout=100)
        await message.complete("answer")
        return [winner, message.body, message.id]

    async def script(host: Host, actor_id: str) -> Any:
        return (await host.send(actor_id, "work", QueueSend("precious", wait=True))).response

    world = world_of(flow, always_replay=always_replay)
    assert world.live(script) == "answer"
    assert world.view().workflow.output == ["quick", "precious", "1"] and world.view().queue == ()


def test_a_loser_does_not_take_back_what_it_completed() -> None:
    async def completes(branch: Any) -> Any:
        message = await branch.queue.next("take", names=["work"], completable=True)
        await message.complete("done")
        await branch.sleep("think", 1e6)

    async def flow(ctx: Any) -> Any:
        await ctx.race("first", {"loser": completes, "quick": quick})
        return [m.body for m in await ctx.queue.next_batch("rest", timeout=10)]

    async def script(host: Host, actor_id: str) -> Any:
        assert (await host.send(actor_id, "work", QueueSend(1, wait=True))).response == "done"
        await until(host, actor_id)

    world = world_of(flow)
    world.live(script)
    assert world.view().workflow.output == []


@BOTH_MODES
@pytest.mark.parametrize(
    "names", [("a", "b", "c", "d"), ("d", "c", "b", "a"), ("b", "d", "a", "c")], ids=repr
)
@pytest.mark.parametrize("how", ["returns", "step", "sleep", "message"])
def test_of_those_that_complete_together_the_first_wins(
    names: tuple[str, ...], how: str, always_replay: bool
) -> None:
    async def same(branch: Any) -> Any:
        if how == "step":
            await branch.step("work", note, "w")
        if how == "sleep":
            await branch.sleep("nap", 7)
        if how == "message":
            await branch.queue.next_batch("m", timeout=7)
        return 1

    async def flow(ctx: Any) -> Any:
        return await ctx.race("first", dict.fromkeys(names, same))

    world = world_of(flow, always_replay=always_replay)
    world.live(to_the_end)
    assert world.view().workflow.output == [names[0], 1]


def test_the_winner_stays_the_winner_after_a_restart() -> None:
    seconds = {"a": 50, "b": 5}

    def branch(name: str) -> Any:
        async def run(b: Any) -> Any:
            await b.sleep("nap", seconds[name])
            return name

        return run

    async def flow(ctx: Any) -> Any:
        first = await ctx.race("first", {"a": branch("a"), "b": branch("b")})
        await ctx.sleep("nap", 1000)
        return first

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(100), clean=False)
    seconds.update(a=0, b=100)
    world.live(to_the_end)
    assert world.view().workflow.output == ["b", "b"]


@BOTH_MODES
def test_a_branch_that_fails_does_not_win(always_replay: bool) -> None:
    async def critical(step: Any) -> None:
        raise CriticalError("no")

    async def bad(branch: Any) -> Any:
        await branch.step("critical", critical)

    world = world_of(race(bad=bad, worse=lambda branch: 1 / 0, quick=quick), always_replay=always_replay)
    world.live(to_the_end)
    assert world.view().workflow.output == ["quick", "won", []]


def test_when_all_failed_the_error_has_each() -> None:
    told: list[Any] = []

    async def a(branch: Any) -> Any:
        await branch.sleep("nap", 5)
        raise ValueError("a")

    async def flow(ctx: Any) -> Any:
        try:
            await ctx.race("first", {"a": a, "b": lambda branch: 1 / 0})
        except RaceError as error:
            told.append((str(error), error.errors))
        await ctx.sleep("nap", 1000)
        await ctx.race("second", {"a": a})

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(100), clean=False)
    world.live(to_the_end)
    assert told[0] == told[1] == told[-1]
    assert list(told[0][1]) == ["a", "b"] and told[0][1]["b"].type == "ZeroDivisionError"
    assert "all 2 branches of race 'first' failed" in told[0][0]
    assert reason_of(world.view().workflow).startswith("RaceError: all 1 branches of race 'second' failed")


@BOTH_MODES
def test_an_eviction_swallowed_in_a_branch_wins_nothing(always_replay: bool) -> None:
    async def hides(branch: Any) -> Any:
        try:
            await branch.sleep("nap", 1000)
        except BaseException:
            return "swallowed"
        return "slept"

    world = world_of(race(hides=hides), always_replay=always_replay)
    world.live(lambda host, actor: asyncio.sleep(1))
    assert len(world.said("signal_swallowed")) >= 1
    world.live(to_the_end)
    assert world.view().workflow.output == ["hides", "slept", []]


@BOTH_MODES
def test_a_message_of_a_loser_waits_again_unless_a_step_followed_it(always_replay: bool) -> None:
    async def beside(branch: Any) -> None:
        await branch.sleep("nap", 3)
        await branch.step("beside", note, "beside")

    async def unused(branch: Any) -> None:
        await branch.queue.next("m", names=["work"])
        await branch.sleep("think", 1e6)

    async def used(branch: Any) -> None:
        message = await branch.queue.next("m", names=["control"])
        await branch.step("use", note, "use", message.body)
        await branch.sleep("think", 1e6)

    async def loser(branch: Any) -> None:
        await branch.join("j", {"unused": unused, "used": used, "beside": beside})

    async def flow(ctx: Any) -> Any:
        await ctx.race("first", {"loser": loser, "quick": quick})
        return [message.body for message in await ctx.queue.next_batch("rest", count=9, timeout=10)]

    async def script(host: Host, actor_id: str) -> None:
        await host.send(actor_id, "work", QueueSend("unused"))
        await host.send(actor_id, "control", QueueSend("used"))
        await until(host, actor_id)

    world = world_of(flow, always_replay=always_replay)
    world.live(script)
    assert world.view().workflow.output == ["unused"] and ran == ["use", "beside"]


def test_an_only_branch_is_a_race() -> None:
    async def flow(ctx: Any) -> Any:
        return await ctx.race("first", {"a": lambda branch: None})

    assert ended(flow).output == ["a", None]


def test_a_loser_that_takes_its_time_to_clean_up_is_waited_for() -> None:
    async def slow_to_leave(step: Any) -> None:
        for _ in range(5):
            try:
                await asyncio.sleep(1e6 if not ran else 0.9)
            except asyncio.CancelledError:
                ran.append("not yet")

    async def deep(branch: Any) -> Any:
        await branch.step("hang", slow_to_leave, timeout=None)

    async def nested(branch: Any) -> Any:
        await branch.join("inner", {"a": deep})

    world = world_of(race(nested=nested, quick=quick))
    world.live(to_the_end)
    assert world.view().workflow.output == ["quick", "won", []]
    assert ran[-1] == "after" and ran.count("not yet") > 1


@BOTH_MODES
@pytest.mark.parametrize("completable", [False, True])
def test_a_message_that_comes_in_the_moment_of_losing_is_not_lost(
    completable: bool, always_replay: bool
) -> None:
    """Whatever the moment: its branch wins with it, or it is still there; or its sender knows that it was handled."""

    async def takes(branch: Any) -> Any:
        message = await branch.queue.next("take", completable=completable)
        if completable:
            await message.complete()
        return message.body

    async def flow(ctx: Any) -> Any:
        winner, value = await ctx.race("first", {"quick": quick, "takes": takes})
        rest = await ctx.queue.next_batch("rest", timeout=10)
        return [winner, value, [message.body for message in rest]]

    for ticks in range(12):
        handled: list[str] = []

        async def script(host: Host, actor_id: str, ticks: int = ticks, handled: Any = handled) -> None:
            await asyncio.sleep(5)
            for _ in range(ticks):
                await asyncio.sleep(0)
            sent = await host.send(actor_id, "work", QueueSend("precious", wait=completable, timeout=1))
            handled.extend(["precious"] if completable and sent.status == "completed" else [])
            await until(host, actor_id)

        world = world_of(flow, always_replay=always_replay)
        world.live(script)
        winner, _, rest = world.view().workflow.output
        assert rest == ["precious"] or winner == "takes" or handled, ticks
        assert world.view().queue == ()
