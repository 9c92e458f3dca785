"""What the host holds to when things meet: messages and sleep, callers that leave, a store that refuses."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from typing import Any

import pytest

from rivetpy import actor, codec, queue, setup
from rivetpy.actors import ActorDefinition
from rivetpy.engine.http import error_answer
from rivetpy.errors import RivetError, StoreError
from rivetpy.host import Host
from rivetpy.store import Batch
from rivetpy.store.memory import MemoryStore
from rivetpy.store.trouble import refused
from rivetpy.wire.bodies import QueueSend
from tests.support.flows import define, ended, reason_of
from tests.support.hosting import with_host
from tests.support.jump import JumpClock, run
from tests.support.world import World, until


async def bump(step: Any) -> None:
    step.state["n"] += 1


async def after_a_message(ctx: Any) -> None:
    await ctx.queue.next("wait", names=["work"])
    await ctx.step("bump", bump)


async def after_a_while(ctx: Any) -> None:
    await ctx.sleep("while", 100)


class SlowStore(MemoryStore):
    """Commits take a second, also when their caller is gone meanwhile; with ``failing`` they then fail."""

    failing = False

    def commit(self, batch: Batch) -> asyncio.Future[None]:
        return asyncio.create_task(self._commit(batch))

    async def _commit(self, batch: Batch) -> None:
        await asyncio.sleep(1)
        if self.failing:
            raise StoreError("disk_full", "full")
        await super().commit(batch)


def with_slow_store(definition: ActorDefinition, script: Any) -> Any:
    async def life() -> Any:
        store = SlowStore()
        host = Host(setup(use={"a": definition}), store, JumpClock())
        await host.start()
        try:
            return await script(host, store)
        finally:
            store.failing = False
            await host.stop()

    return run(life())


async def begin_and_leave(work: Any) -> None:
    """Ask for something and be gone while it is under way."""
    task = asyncio.create_task(work)
    await asyncio.sleep(0.5)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


# -- a message in the moment of putting away -------------------------------------------------------------


def test_a_workflow_that_got_its_message_while_it_was_put_away_comes_back() -> None:
    world = World(define(after_a_message))

    async def script(host: Host, actor_id: str) -> str:
        await until(host, actor_id, "sleeping")
        await host.send(actor_id, "work", QueueSend(1))
        await host.sleep(actor_id)
        await asyncio.sleep(5)
        return str((await host.view(actor_id)).workflow.status)  # type: ignore[union-attr]

    assert world.live(script) == "completed"


def test_a_message_on_its_way_while_its_actor_is_put_away_wakes_it() -> None:
    async def script(host: Host, store: SlowStore) -> str:
        row, _ = await host.get_or_create("default", "a", ("k",))
        await until(host, row.id, "sleeping")
        await asyncio.gather(begin_and_leave(host.send(row.id, "work", QueueSend(1))), asleep(host, row.id))
        await asyncio.sleep(20)
        return str((await host.view(row.id)).workflow.status)  # type: ignore[union-attr]

    async def asleep(host: Host, actor_id: str) -> None:
        await asyncio.sleep(0.7)
        await host.sleep(actor_id)

    assert with_slow_store(define(after_a_message), script) == "completed"


# -- callers that leave ----------------------------------------------------------------------------------


def test_a_sender_that_leaves_does_not_take_its_message_back() -> None:
    async def script(host: Host, store: SlowStore) -> str:
        row, _ = await host.get_or_create("default", "a", ("k",))
        await until(host, row.id, "sleeping")
        await begin_and_leave(host.send(row.id, "work", QueueSend(1, wait=True, idempotency_key="once")))
        async with asyncio.timeout(10):
            await host.send(row.id, "work", QueueSend(1, idempotency_key="once"))
        await until(host, row.id, seconds=20)
        return str((await host.view(row.id)).state)

    assert with_slow_store(define(after_a_message), script) == "{'n': 1}"


def test_an_actor_whose_creator_left_runs() -> None:
    async def script(host: Host, store: SlowStore) -> None:
        await begin_and_leave(host.create("default", "a", ("k",)))
        await asyncio.sleep(20)
        row = await host.find("default", "a", ("k",))
        assert row is not None and host.is_awake(row.id)

    with_slow_store(define(after_a_while), script)


def test_an_alarm_outlives_a_caller_that_left_while_the_actor_was_woken() -> None:
    async def script(host: Host, store: SlowStore) -> str:
        row, _ = await host.get_or_create("default", "a", ("k",))
        await until(host, row.id, "sleeping")
        await host.sleep(row.id)
        await begin_and_leave(host.call(row.id, "get", []))
        await asyncio.sleep(200)
        return str((await host.view(row.id)).workflow.status)  # type: ignore[union-attr]

    assert with_slow_store(define(after_a_while, actions={"get": lambda c: 1}), script) == "completed"


def test_a_destroy_whose_caller_left_is_finished() -> None:
    async def script(host: Host, store: SlowStore) -> None:
        row, _ = await host.get_or_create("default", "a", ("k",))
        await begin_and_leave(host.destroy(row.id))
        await asyncio.sleep(5)
        assert await host.find("default", "a", ("k",)) is None

    with_slow_store(define(after_a_while), script)


def test_a_stop_does_not_wait_for_ever_for_an_actor_that_is_being_made() -> None:
    async def hang(c: Any, given: Any) -> dict[str, int]:
        await asyncio.sleep(1e9)
        return {}

    async def script(host: Host, store: SlowStore) -> None:
        await begin_and_leave(host.create("default", "a", ("k",)))
        async with asyncio.timeout(60):
            await host.stop()

    with_slow_store(actor(create_state=hang), script)


# -- a store that refuses --------------------------------------------------------------------------------


def test_senders_with_one_key_fail_together() -> None:
    async def script(host: Host, store: SlowStore) -> None:
        row, _ = await host.get_or_create("default", "a", ("k",))
        await until(host, row.id, "sleeping")
        store.failing = True
        async with asyncio.timeout(50):
            sends = (host.send(row.id, "work", QueueSend(1, idempotency_key="once")) for _ in range(3))
            results = await asyncio.gather(*sends, return_exceptions=True)
        assert [type(result) for result in results] == [StoreError] * 3

    with_slow_store(define(after_a_message), script)


@pytest.mark.parametrize("leave", ["sleep", "destroy"])
def test_an_actor_that_could_not_leave_memory_goes_on(leave: str) -> None:
    async def script(host: Host, store: SlowStore) -> str:
        row, _ = await host.get_or_create("default", "a", ("k",))
        await until(host, row.id, "sleeping")
        store.failing = True
        with pytest.raises(StoreError):
            await (host.sleep(row.id) if leave == "sleep" else host.destroy(row.id))
        await asyncio.sleep(50)
        store.failing = False
        await asyncio.sleep(200)
        return str((await host.view(row.id)).workflow.status)  # type: ignore[union-attr]

    assert with_slow_store(define(after_a_while), script) == "completed"


def test_alarms_are_asked_for_calmly_while_the_disk_is_full() -> None:
    class Counting(SlowStore):
        asked = 0

        async def due(self, now: int, limit: int) -> list[str]:
            Counting.asked += 1
            assert Counting.asked < 1000
            return await super().due(now, limit)

        def commit(self, batch: Batch) -> asyncio.Future[None]:
            return (
                refused(StoreError("disk_full", "full")) if self.failing else MemoryStore.commit(self, batch)
            )

    async def life() -> str:
        store = Counting()
        host = Host(setup(use={"a": define(after_a_while)}), store, JumpClock())
        await host.start()
        row, _ = await host.get_or_create("default", "a", ("k",))
        await until(host, row.id, "sleeping")
        await host.sleep(row.id)
        store.failing = True
        await asyncio.sleep(200)
        assert Counting.asked < 100
        store.failing = False
        await asyncio.sleep(20)
        status = (await host.view(row.id)).workflow.status  # type: ignore[union-attr]
        await host.stop()
        return str(status)

    assert run(life()) == "completed"


def test_one_damaged_actor_does_not_end_the_alarms_of_the_others() -> None:
    async def script(host: Host, store: SlowStore) -> str:
        bad, _ = await host.get_or_create("default", "a", ("bad",))
        good, _ = await host.get_or_create("default", "a", ("good",))
        for row in (bad, good):
            await until(host, row.id, "sleeping")
            await host.sleep(row.id)
        await store.commit(Batch(bad.id, puts={b"w": b"\xc1", b"q12345678": b"\xc1"}))
        await asyncio.sleep(300)
        return str((await host.view(good.id)).workflow.status)  # type: ignore[union-attr]

    assert with_slow_store(define(after_a_while), script) == "completed"


def test_a_body_is_over_before_the_next_instance_runs_it_again() -> None:
    running = 0
    most = 0

    async def body(step: Any) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            await asyncio.sleep(60)
        finally:
            running -= 1

    async def flow(ctx: Any) -> None:
        await ctx.step("body", body, timeout=None)

    async def script(host: Host, store: SlowStore) -> None:
        row, _ = await host.get_or_create("default", "a", ("k",))
        await asyncio.sleep(2)
        store.failing = True
        with pytest.raises(StoreError):
            await host.send(row.id, "work", QueueSend(1))
        store.failing = False
        await until(host, row.id)
        assert most == 1

    with_slow_store(define(flow), script)


# -- user code that asks for the end of everything -------------------------------------------------------


def test_sys_exit_in_an_action_or_in_create_state_ends_only_that() -> None:
    def leave(c: Any, given: Any = None) -> None:
        sys.exit(3)

    async def life() -> None:
        use = {
            "a": define(after_a_while, actions={"leave": leave}),
            "b": actor(create_state=leave, queues={"q": queue()}),
        }
        host = Host(setup(use=use), MemoryStore(), JumpClock())
        await host.start()
        row, _ = await host.get_or_create("default", "a", ("k",))
        with pytest.raises(RuntimeError, match=r"sys.exit\(3\)"):
            await host.call(row.id, "leave", [])
        with pytest.raises(RuntimeError, match=r"sys.exit\(3\)"):
            await host.create("default", "b", ("k",))
        await host.stop()

    run(life())


class Odd(BaseException):
    """Not an Exception."""


@pytest.mark.parametrize("error", [SystemExit, asyncio.CancelledError, Odd])
@pytest.mark.parametrize("where", ["between steps", "loop", "async step", "def step"])
def test_whatever_user_code_raises_the_workflow_ends(where: str, error: type[BaseException]) -> None:
    def body(_: Any) -> None:
        raise error("x")

    async def async_body(_: Any) -> None:
        raise error("x")

    async def flow(ctx: Any) -> None:
        if where == "loop":
            await ctx.loop("loop", async_body)
        elif where == "between steps":
            body(ctx)
        await ctx.step("step", async_body if where == "async step" else body)

    world = World(define(flow))

    async def script(host: Host, actor_id: str) -> str:
        await asyncio.sleep(100)
        view = (await host.view(actor_id)).workflow
        assert view is not None and error.__name__ in str(view.failure)
        return str(view.status)

    assert world.live(script) == "failed"


@pytest.mark.parametrize("always_replay", [False, True])
def test_a_completion_in_finally_waits_for_the_pass_that_comes_there(always_replay: bool) -> None:
    async def flow(ctx: Any) -> None:
        message = await ctx.queue.next("wait", completable=True)
        try:
            await ctx.sleep("while", 10)
        finally:
            await message.complete("done")

    world = World(define(flow), always_replay=always_replay)

    async def script(host: Host, actor_id: str) -> None:
        await until(host, actor_id, "sleeping")
        sent = await host.send(actor_id, "work", QueueSend(1, wait=True, timeout=100))
        assert (sent.status, sent.response) == ("completed", "done")

    world.live(script)


# -- bodies that are hard to end -------------------------------------------------------------------------


@pytest.mark.parametrize("leave", ["sleep", "destroy"])
def test_a_body_that_ignores_its_end_keeps_nobody_waiting(leave: str) -> None:
    over = asyncio.Event()

    async def stubborn(step: Any) -> None:
        step.state["n"] += 1
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue
        step.state["n"] += 1

    async def flow(ctx: Any) -> None:
        await ctx.step("stubborn", stubborn, timeout=None)

    world = World(define(flow, sleep_grace_period=1))

    async def script(host: Host, actor_id: str) -> None:
        await asyncio.sleep(1)
        try:
            async with asyncio.timeout(30):
                await (host.sleep(actor_id) if leave == "sleep" else host.destroy(actor_id))
        finally:
            over.set()
        await asyncio.sleep(10)
        if leave == "sleep":
            await until(host, actor_id)
            assert (await host.view(actor_id)).state == {"n": 2}  # the second body's, alone

    world.live(script)


def test_an_action_never_writes_what_a_step_in_a_thread_is_changing() -> None:
    go, changed, finish = threading.Event(), threading.Event(), threading.Event()

    def body(step: Any) -> None:
        state = step.state
        go.wait(10)
        state["n"] = 1
        changed.set()
        finish.wait(10)

    def look(c: Any) -> int:
        number = c.state["n"]
        go.set()
        changed.wait(10)
        return int(number)

    async def flow(ctx: Any) -> None:
        await ctx.step("body", body)

    async def life() -> None:
        store = MemoryStore()
        host = Host(setup(use={"a": define(flow, actions={"look": look})}), store)
        await host.start()
        row, _ = await host.get_or_create("default", "a", ("k",))
        await asyncio.sleep(0.05)
        looking = asyncio.create_task(host.call(row.id, "look", []))
        while not changed.is_set():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert codec.decode(dict(await store.load(row.id))[b"s"]) == {"n": 0}
        finish.set()
        assert await looking == 0
        await host.stop()

    asyncio.run(life())


# -- mistakes a workflow may make ------------------------------------------------------------------------


def test_a_call_instead_of_a_function_is_refused_at_once() -> None:
    async def charge(step: Any) -> None: ...

    async def called(ctx: Any) -> None:
        await ctx.step("charge", charge(ctx))

    async def nothing(ctx: Any) -> None:
        await ctx.step("charge", None)

    assert "takes a function and its arguments, not what charge(…) returned" in reason_of(ended(called))
    assert "not NoneType: await ctx.step('charge', fn, *args)" in reason_of(ended(nothing))


def test_a_wait_for_no_queue_is_refused() -> None:
    async def flow(ctx: Any) -> None:
        await ctx.queue.next("wait", names=[])

    assert "names is empty" in reason_of(ended(flow))


# -- what a full disk looks like -------------------------------------------------------------------------


def test_trouble_of_the_store_is_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "rivetpy.engine"):
        error_answer(StoreError("disk_full", "/data: the disk is full."), "ray")
    assert "ray" in caplog.text and "the disk is full" in caplog.text and "Traceback" not in caplog.text
    assert caplog.records[0].exc_info is None


def test_a_client_learns_that_the_disk_is_full() -> None:
    answer = error_answer(StoreError("disk_full", "/data: the disk is full."), "ray")
    assert answer.status == 503 and b"store" in answer.body and b"the disk is full" in answer.body
    assert b"/data" not in error_answer(StoreError("damaged", "/data: damaged."), "ray").body


def test_who_waits_for_a_message_that_is_dropped_is_told_and_may_send_it_again() -> None:
    async def script(host: Host) -> None:
        row, _ = await host.get_or_create("default", "a", ("k",))
        sending = asyncio.create_task(
            host.send(row.id, "jobs", QueueSend(1, wait=True, idempotency_key="once"))
        )
        await asyncio.sleep(1)
        assert await host.drop_messages(row.id, None) == 1
        with pytest.raises(RivetError, match="removed from queue 'jobs'") as dropped:
            await sending
        assert (dropped.value.code, dropped.value.status) == ("dropped", 410)
        assert (await host.send(row.id, "jobs", QueueSend(1, idempotency_key="once"))).status == "completed"
        assert len((await host.view(row.id)).queue) == 1

    with_host(actor(queues={"jobs": queue()}), script)
