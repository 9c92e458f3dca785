"""rewind, undo, recover, cancel, wake (spec workflows 12)."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from rivetpy import RivetError
from rivetpy.host import Host
from rivetpy.wire.bodies import QueueSend
from rivetpy.workflow import Loop, RollbackError
from tests.support.counting import broken, counted, note, ran
from tests.support.flows import reason_of, to_the_end, world_of
from tests.support.world import Died, plain, until


@pytest.fixture(autouse=True)
def _fresh() -> None:
    ran.clear()
    broken.clear()


def rewound(place: str | None) -> Any:
    async def script(host: Host, actor_id: str) -> Any:
        result = await host.rewind(actor_id, place)
        await until(host, actor_id, seconds=1000)
        return result

    return script


# -- rewind ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "again"),
    [
        ("last", ["last"]),
        ("loop/~4/also", ["also 5", "last"]),
        ("loop/~3/handle", ["handle 4", "also 4", "handle 5", "also 5", "last"]),
        ("loop/~3/wait", ["handle 4", "also 4", "handle 5", "also 5", "last"]),
        ("loop", [*(f"{what} {i}" for i in range(1, 6) for what in ("handle", "also")), "last"]),
        (None, ["first", *(f"{what} {i}" for i in range(1, 6) for what in ("handle", "also")), "last"]),
    ],
)
def test_what_is_after_an_entry_runs_again_with_the_state_and_the_messages_of_then(
    place: str | None, again: list[str]
) -> None:
    world = counted()
    before = plain(world.journal(), crashed=True)
    result = world.live(rewound(place))
    assert ran == again
    assert plain(world.journal(), crashed=True) == before
    assert world.view().workflow.output == 5
    assert len(result.runs_again) == len(again)


def test_a_dry_run_says_the_same_and_changes_nothing() -> None:
    world = counted()
    rows = world.rows()
    dry = world.live(lambda host, actor: host.rewind(actor, "loop/~3/handle", dry_run=True))
    assert dry.runs_again == ("loop/~3/handle", "loop/~3/also", "loop/~4/handle", "loop/~4/also", "last")
    assert dry.returned_messages == 1
    assert [row for row in world.rows() if row[0].startswith(b"j")] == [
        r for r in rows if r[0].startswith(b"j")
    ]
    assert world.live(rewound("loop/~3/handle")) == dry


def test_undo_brings_back_the_journal_and_the_result() -> None:
    world = counted()
    before = [row for row in world.rows() if row[0][:1] in b"jw"]
    world.live(rewound("loop/~3/wait"))
    world.live(lambda host, actor: host.undo_rewind(actor))
    assert [row for row in world.rows() if row[0][:1] in b"jw"] == before
    assert world.view().queue == ()
    with pytest.raises(RivetError, match="to be undone"):
        world.live(lambda host, actor: host.undo_rewind(actor))


def test_undo_loses_no_message() -> None:
    async def flow(ctx: Any) -> None:
        message = await ctx.queue.next("open", completable=True)
        await ctx.sleep("nap", 100)
        await message.complete()
        await ctx.queue.next("later")
        await ctx.sleep("long", 1e9)

    world = world_of(flow)

    async def script(host: Host, actor_id: str) -> None:
        await host.send(actor_id, "work", QueueSend(1))
        await until(host, actor_id, "sleeping")
        await host.rewind(actor_id)
        await host.send(actor_id, "work", QueueSend(2))
        await asyncio.sleep(200)
        await host.undo_rewind(actor_id)  # 1 was open when the rewind came, 2 was received since
        assert [message.id for message in (await host.view(actor_id)).queue] == [1, 2]
        await asyncio.sleep(200)

    world.live(script)
    assert world.view().queue == ()


def test_undo_takes_back_messages_that_were_returned() -> None:
    async def flow(ctx: Any) -> None:
        await ctx.queue.next("one")
        await ctx.queue.next("two")
        await ctx.sleep("nap", 1e9)

    world = world_of(flow)

    async def script(host: Host, actor_id: str) -> None:
        await host.send(actor_id, "work", QueueSend(1))
        await host.send(actor_id, "work", QueueSend(2))
        await until(host, actor_id, "sleeping")
        result = await host.rewind(actor_id, "two")
        assert result.returned_messages == 1
        await host.undo_rewind(actor_id)
        assert (await host.view(actor_id)).queue == ()
        await until(host, actor_id, "sleeping")

    world.live(script)
    assert [entry.location for entry in world.journal()] == ["one", "two", "nap"]


def test_a_rewind_is_refused_while_a_step_runs_and_allowed_while_it_waits() -> None:
    async def slow(step: Any) -> None:
        await asyncio.sleep(100)

    async def flow(ctx: Any) -> None:
        await ctx.sleep("nap", 100)
        await ctx.step("slow", slow, timeout=None)

    world = world_of(flow)

    async def script(host: Host, actor_id: str) -> None:
        await asyncio.sleep(1)
        await host.rewind(actor_id)  # it waits in the nap
        await asyncio.sleep(150)
        with pytest.raises(RivetError) as caught:
            await host.rewind(actor_id)
        assert (caught.value.code, caught.value.status) == ("in_flight", 409)
        await until(host, actor_id)

    world.live(script)


def test_an_unknown_entry_names_the_nearest() -> None:
    world = counted()
    with pytest.raises(RivetError, match="Did you mean 'first'") as caught:
        world.live(lambda host, actor: host.rewind(actor, "frist"))
    assert caught.value.status == 404


def test_a_crash_in_a_rewind_leaves_the_old_or_the_new_journal() -> None:
    for commit in range(1, 8):
        for when in ("die_before", "die_after"):
            world = counted()
            before = plain(world.journal(), crashed=True)
            with contextlib.suppress(Died):
                world.live(rewound("loop/~2/handle"), **{when: commit})
            world.live(to_the_end)
            assert plain(world.journal(), crashed=True) == before
            assert world.view().workflow.output == 5


def test_a_rewind_into_a_branch_reopens_the_join_and_what_went_on_beside_it() -> None:
    async def flow(ctx: Any) -> Any:
        async def left(branch: Any) -> Any:
            await branch.step("a", note, "left a")
            await branch.sleep("nap", 10)
            return await branch.step("b", note, "left b", "L")

        async def right(branch: Any) -> Any:
            async def again(loop: Any, i: int) -> Any:
                await loop.step("s", note, f"right {i}")
                await loop.sleep("pause", 4)
                return Loop.break_(i) if i == 4 else Loop.continue_(i + 1)

            return await branch.loop("l", again, state=0)

        return await ctx.join("both", {"left": left, "right": right})

    world = world_of(flow)
    world.live(to_the_end)
    before = plain(world.journal(), crashed=True)
    ran.clear()
    world.live(rewound("both/left/b"))
    assert sorted(ran) == ["left b", "right 3", "right 4"]
    assert plain(world.journal(), crashed=True) == before
    assert world.view().workflow.output == {"left": "L", "right": 4}


def test_what_runs_again_has_another_idempotency_key() -> None:
    keys: list[str] = []

    async def keep(step: Any) -> None:
        keys.append(step.idempotency_key)

    async def flow(ctx: Any) -> None:
        await ctx.step("s", keep)

    world = world_of(flow)
    world.live(to_the_end)
    world.live(rewound("s"))
    assert len(keys) == 2 and keys[0] != keys[1]


def test_no_two_rewinds_share_their_idempotency_keys_also_after_an_undo() -> None:
    keys: list[str] = []

    async def keep(step: Any) -> None:
        keys.append(step.idempotency_key)

    async def flow(ctx: Any) -> None:
        await ctx.step("s", keep)

    world = world_of(flow)
    world.live(to_the_end)
    world.live(rewound("s"))
    world.live(lambda host, actor: host.undo_rewind(actor))
    world.live(rewound("s"))
    assert len(set(keys)) == 3


# -- recover ---------------------------------------------------------------------------------------------


def recovered(host: Host, actor_id: str) -> Any:
    async def script() -> None:
        await host.recover(actor_id)
        await until(host, actor_id)

    return script()


async def fragile(ctx: Any) -> Any:
    await ctx.step("before", note, "before")
    caught = await ctx.try_step("caught", note, "caught", max_retries=0)
    value = await ctx.step("fragile", note, "fragile", 7, max_retries=1, retry_backoff_base=0)
    return [type(caught).__name__, value]


def test_recover_resets_what_failed_it_and_nothing_else() -> None:
    broken.update({"fragile", "caught"})
    world = world_of(fragile)
    world.live(to_the_end)
    assert "fragile is broken" in reason_of(world.view().workflow)
    broken.clear()
    ran.clear()
    world.live(recovered)
    assert world.view().workflow.output == ["Failed", 7]
    assert ran == ["fragile"]


def test_recover_in_a_join_runs_only_the_branch_that_failed() -> None:
    async def flow(ctx: Any) -> Any:
        async def branch(name: str, b: Any) -> Any:
            return await b.step("s", note, name, name, max_retries=0)

        return await ctx.join("j", {n: lambda b, n=n: branch(n, b) for n in ("good", "bad")})

    broken.add("bad")
    world = world_of(flow)
    world.live(to_the_end)
    broken.clear()
    ran.clear()
    world.live(recovered)
    assert world.view().workflow.output == {"good": "good", "bad": "bad"} and ran == ["bad"]


def test_recover_forgets_what_was_done_because_of_the_failure() -> None:
    async def flow(ctx: Any) -> Any:
        async def once(loop: Any) -> Any:
            try:
                await loop.step("fragile", note, "fragile", max_retries=0)
            except Exception:
                await loop.step("clean up", note, "clean up")
                raise
            return Loop.break_("fine")

        try:
            return await ctx.loop("l", once)
        except Exception:
            await ctx.queue.next("tell me")
            await ctx.step("report", note, "report")
            raise

    broken.add("fragile")
    world = world_of(flow)

    async def script(host: Host, actor_id: str) -> None:
        await host.send(actor_id, "work", QueueSend("told"))
        await until(host, actor_id)

    world.live(script)
    assert ran == ["fragile", "clean up", "report"]
    broken.clear()
    ran.clear()
    world.live(recovered)
    assert ran == ["fragile"] and world.view().workflow.output == "fine"
    assert [entry.location for entry in world.journal()] == ["l", "l/~0/fragile"]
    assert [message.id for message in world.view().queue] == [1]


def test_recover_is_for_failed_workflows() -> None:
    world = counted()
    with pytest.raises(RivetError, match="is completed, not failed"):
        world.live(recovered)


def test_recover_after_a_failed_rollback_runs_the_handlers_that_are_left() -> None:
    async def undo(step: Any, output: Any) -> None:
        await note(step, f"undo {output}")

    async def fail(step: Any) -> None:
        raise RollbackError("enough")

    async def flow(ctx: Any) -> None:
        await ctx.rollback_checkpoint("here")
        for name in "abc":
            await ctx.step(name, note, name, name, rollback=undo)
        await ctx.step("fail", fail)

    broken.add("undo b")
    world = world_of(flow)
    world.live(to_the_end)
    assert ran[-2:] == ["undo c", "undo b"] and "undo a" not in ran
    broken.clear()
    ran.clear()
    world.live(recovered)
    assert ran == ["undo b", "undo a"]
    assert world.view().workflow.status == "failed"
    with pytest.raises(RivetError, match="Rewind it"):
        world.live(recovered)
    with pytest.raises(RivetError, match="was rolled back"):
        world.live(lambda host, actor: host.rewind(actor, "fail"))


# -- cancel, wake ----------------------------------------------------------------------------------------


def test_cancel_is_for_good_and_rolls_nothing_back() -> None:
    cleaned: list[str] = []

    async def slow(step: Any) -> None:
        try:
            await asyncio.sleep(1e6)
        finally:
            cleaned.append("finally")

    async def undo(step: Any, output: Any) -> None:
        cleaned.append("undo")

    async def flow(ctx: Any) -> None:
        await ctx.rollback_checkpoint("here")
        await ctx.step("done", note, "done", rollback=undo)
        await ctx.step("slow", slow, timeout=None)

    world = world_of(flow)

    async def script(host: Host, actor_id: str) -> None:
        await asyncio.sleep(1)
        await host.cancel(actor_id)
        assert (await host.view(actor_id)).workflow.status == "cancelled"  # type: ignore[union-attr]
        with pytest.raises(RivetError, match="cancelled already"):
            await host.cancel(actor_id)
        await host.send(actor_id, "work", QueueSend(1))

    world.live(script)
    world.live(lambda host, actor: asyncio.sleep(1000))
    assert cleaned == ["finally"] and world.view().workflow.status == "cancelled"
    with pytest.raises(RivetError, match="cancelled, which is for good"):
        world.live(lambda host, actor: host.rewind(actor))
    assert world.view().row.alarm is None


def test_wake_ends_a_sleep_of_the_actor_not_of_a_timer() -> None:
    async def flow(ctx: Any) -> None:
        await ctx.sleep("nap", 1000)

    world = world_of(flow)

    async def script(host: Host, actor_id: str) -> None:
        await asyncio.sleep(100)
        assert not host.is_awake(actor_id)
        await host.wake(actor_id)
        assert host.is_awake(actor_id)
        await asyncio.sleep(1)
        assert (await host.view(actor_id)).workflow.status == "sleeping"  # type: ignore[union-attr]

    world.live(script)


@pytest.mark.parametrize("what", ["recover", "rewind", "undo"])
def test_a_change_that_is_refused_leaves_the_workflow_running(what: str) -> None:
    """To look at it the actor was put away; nothing but its alarm brings it back."""

    async def flow(ctx: Any) -> str:
        await ctx.sleep("nap", 60)
        return "awake"

    world = world_of(flow)

    async def script(host: Host, actor_id: str) -> None:
        await asyncio.sleep(1)
        change = {
            "recover": lambda: host.recover(actor_id),
            "rewind": lambda: host.rewind(actor_id, "nowhere"),
            "undo": lambda: host.undo_rewind(actor_id),
        }[what]
        with pytest.raises(RivetError):
            await change()
        await asyncio.sleep(100)
        workflow = (await host.view(actor_id)).workflow
        assert workflow is not None and workflow.output == "awake"

    world.live(script)
