"""Run handlers that are no workflow: receiving, completing, sleeping and waking (spec actors 2)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rivetpy import ActorOptions, actor, queue
from rivetpy.host import Host, HostEvent
from rivetpy.store.memory import MemoryStore
from rivetpy.wire.bodies import QueueSend
from tests.support.hosting import asleep, make, refused, with_host


def looping(run: Any, **more: Any) -> Any:
    return actor(state={"got": []}, queues={"work": queue(), "control": queue()}, run=run, **more)


async def keep(c: Any) -> None:
    async for message in c.queue.iter():
        c.state["got"].append(message.body)


def test_a_loop_gets_every_message_in_order_and_what_it_did_is_stored() -> None:
    store = MemoryStore()

    async def script(host: Host) -> None:
        actor_id = await make(host)
        for number in range(5):
            await host.send(actor_id, "work", QueueSend(number))
        await asyncio.sleep(1)

    with_host(looping(keep), script, store, clean=False)

    async def again(host: Host) -> Any:
        actor_id = await make(host)
        await host.send(actor_id, "control", QueueSend(5))
        await asyncio.sleep(1)
        return (await host.view(actor_id)).state

    assert with_host(looping(keep), again, store) == {"got": [0, 1, 2, 3, 4, 5]}


def test_it_sleeps_while_it_waits_and_a_message_wakes_it() -> None:
    begun: list[int] = []

    async def run(c: Any) -> None:
        begun.append(1)
        await keep(c)

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await asleep(host, actor_id)
        await host.send(actor_id, "work", QueueSend("up"))
        await asyncio.sleep(1)
        assert (await host.view(actor_id)).state == {"got": ["up"]}
        assert len(begun) == 2

    with_host(looping(run, options=ActorOptions(sleep_timeout=5)), script)


def test_it_keeps_awake_while_it_does_something_else() -> None:
    async def run(c: Any) -> None:
        await asyncio.sleep(100)

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await asyncio.sleep(95)
        assert host.is_awake(actor_id)
        await asleep(host, actor_id)  # it ended

    with_host(looping(run, options=ActorOptions(sleep_timeout=5)), script)


def test_next_narrows_and_times_out() -> None:
    async def run(c: Any) -> None:
        first = await c.queue.next(["control"])
        batch = await c.queue.next_batch("work", count=3)
        none = await c.queue.next_batch(timeout=5)
        nothing = await c.queue.try_next()
        try:
            await c.queue.next(timeout=5)
        except Exception as error:
            c.state["got"] = [first.name, [each.body for each in batch], none, nothing, str(error)[:14]]
        await c.save_state()
        await asyncio.sleep(1e6)

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.send(actor_id, "work", QueueSend(1))
        await host.send(actor_id, "work", QueueSend(2))
        await host.send(actor_id, "control", QueueSend(3))
        await asyncio.sleep(20)
        assert (await host.view(actor_id)).state == {"got": ["control", [1, 2], [], None, "No message cam"]}

    with_host(looping(run), script)


def test_a_deadline_wakes_a_sleeping_loop() -> None:
    times: list[float] = []

    async def run(c: Any) -> None:
        times.append(asyncio.get_running_loop().time())
        await c.queue.next_batch(timeout=1000)
        times.append(asyncio.get_running_loop().time())

    async def script(host: Host) -> None:
        await make(host)
        await asyncio.sleep(1500)
        assert [round(each) for each in times] == [0, 1000]

    with_host(looping(run, options=ActorOptions(sleep_timeout=5)), script)


def test_a_completable_message_is_answered_or_comes_again() -> None:
    store = MemoryStore()

    async def forget(c: Any) -> None:
        message = await c.queue.next(completable=True)
        assert message.body == 20
        await asyncio.sleep(1e6)

    async def double(c: Any) -> None:
        async for message in c.queue.iter(completable=True):
            await message.complete(message.body * 2)

    async def begin(host: Host) -> None:
        await host.send(await make(host), "work", QueueSend(20, idempotency_key="k"))
        await asyncio.sleep(1)

    with_host(looping(forget), begin, store, clean=False)

    async def finish(host: Host) -> Any:
        return await host.send(await make(host), "work", QueueSend(20, idempotency_key="k", wait=True))

    assert with_host(looping(double), finish, store).response == 40


def test_mistakes_with_messages_are_named() -> None:
    codes: list[str] = []

    async def run(c: Any) -> None:
        plain = await c.queue.next()
        codes.append(await refused(plain.complete()))
        message = await c.queue.next(completable=True)
        codes.append(await refused(c.queue.next()))
        await message.complete()
        codes.append(await refused(message.complete()))
        codes.append(await refused(c.queue.next("wrok")))

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.send(actor_id, "work", QueueSend(1))
        await host.send(actor_id, "work", QueueSend(2))
        await asyncio.sleep(1)

    with_host(looping(run), script)
    assert codes == [
        "queue.complete_not_configured",
        "queue.previous_message_not_completed",
        "queue.already_completed",
        "queue.not_declared",
    ]


def test_a_loop_that_fails_is_reported_and_its_message_comes_again_at_the_next_wake() -> None:
    events: list[HostEvent] = []

    async def run(c: Any) -> None:
        message = await c.queue.next(completable=True)
        if c.state["got"] == []:
            c.state["got"].append("seen")
            raise ValueError("oops")
        await message.complete()

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.send(actor_id, "work", QueueSend(1))
        await asyncio.sleep(1)
        assert len((await host.view(actor_id)).queue) == 1
        await host.sleep(actor_id)
        await host.send(actor_id, "work", QueueSend(2))
        await asyncio.sleep(1)
        assert len((await host.view(actor_id)).queue) == 1

    with_host(looping(run), script, events=events)
    assert [event.text for event in events] == ["run failed: ValueError: oops"]


def test_put_away_it_sees_the_abort_and_its_finally_runs() -> None:
    log: list[str] = []

    async def run(c: Any) -> None:
        try:
            while not c.aborted:
                await asyncio.sleep(1)
            log.append("ended by itself")
            await asyncio.sleep(1e6)
        finally:
            log.append("finally")

    async def script(host: Host) -> float:
        await host.sleep(await make(host))
        return asyncio.get_running_loop().time()

    assert with_host(looping(run, options=ActorOptions(sleep_grace_period=3)), script) < 5
    assert log == ["ended by itself", "finally"]


def test_after_a_crash_it_goes_on_by_itself() -> None:
    store = MemoryStore()
    begun: list[int] = []

    async def run(c: Any) -> None:
        begun.append(1)
        await keep(c)

    with_host(looping(run), make, store, clean=False)

    async def nothing(host: Host) -> None:
        await asyncio.sleep(1)

    with_host(looping(run), nothing, store)
    assert len(begun) == 2


def test_a_stop_in_the_middle_of_work_goes_on_at_the_next_start() -> None:
    store = MemoryStore()
    begun: list[int] = []

    async def run(c: Any) -> None:
        begun.append(1)
        await asyncio.sleep(100)

    async def nothing(host: Host) -> None:
        await asyncio.sleep(1)

    with_host(looping(run), make, store)
    with_host(looping(run), nothing, store, start=100)
    assert len(begun) == 2


def test_the_workflows_messages_are_not_for_actions() -> None:
    from rivetpy.workflow import workflow

    async def flow(ctx: Any) -> None:
        await ctx.queue.next("w")

    definition = actor(
        queues={"q": queue()}, run=workflow(flow), actions={"steal": lambda c: c.queue.try_next()}
    )

    async def script(host: Host) -> None:
        assert await refused(host.call(await make(host), "steal", [])) == "queue.received_by_workflow"

    with_host(definition, script)


@pytest.mark.parametrize("verb", ["step", "loop", "join"])
def test_a_workflow_that_was_not_made_one_is_told_so(verb: str) -> None:
    events: list[HostEvent] = []

    async def run(ctx: Any) -> None:
        await getattr(ctx, verb)("name", None)

    with_host(looping(run), make, events=events)
    assert "run=workflow(fn)" in events[0].text
