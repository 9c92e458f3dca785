"""queue.next, next_batch: receipts, timeouts, completable messages (spec workflows 7)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rivetpy import RivetError
from rivetpy.host import Host
from rivetpy.wire.bodies import WAITING_KEY, QueueSend
from rivetpy.workflow import Loop, layout
from tests.support.flows import define, ended, reason_of, to_the_end, world_of
from tests.support.world import Died, World, until


def sends(*bodies: Any, queue: str = "work") -> Any:
    async def script(host: Host, actor_id: str) -> None:
        for number, body in enumerate(bodies):
            await host.send(actor_id, queue, QueueSend(body, idempotency_key=f"{queue}{number}"))
        await until(host, actor_id)

    return script


def test_messages_come_in_order_of_arrival_over_the_named_queues() -> None:
    async def flow(ctx: Any) -> Any:
        await ctx.sleep("let them come", 10)
        first = await ctx.queue.next("only control", names=["control"])
        rest = await ctx.queue.next_batch("both", names=["work", "control"], count=10)
        return [first.body, *(f"{m.name} {m.body}" for m in rest)]

    world = world_of(flow)

    async def script(host: Host, actor_id: str) -> None:
        for queue, body in [("work", 1), ("control", 2), ("control", 3), ("work", 4)]:
            await host.send(actor_id, queue, QueueSend(body))
        await until(host, actor_id)

    world.live(script)
    assert world.view().workflow.output == [2, "work 1", "control 3", "work 4"]


def test_messages_sent_before_the_first_run_are_seen() -> None:
    async def flow(ctx: Any) -> Any:
        return [(await ctx.queue.next(f"m{i}")).body for i in range(5)]

    world = world_of(flow)
    world.live(sends(1, 2, 3, 4, 5))
    assert world.view().workflow.output == [1, 2, 3, 4, 5]


def test_a_crash_after_the_receipt_neither_loses_nor_repeats_the_message() -> None:
    got: list[Any] = []

    async def handle(step: Any, body: Any) -> None:
        got.append(body)

    async def flow(ctx: Any) -> None:
        for i in range(2):
            message = await ctx.queue.next(f"m{i}")
            await ctx.step(f"s{i}", handle, message.body)

    for commit in range(2, 9):
        got.clear()
        world = world_of(flow)
        with pytest.raises(Died):
            world.live(sends("a", "b"), die_after=commit)
        world.live(sends("a", "b"))
        assert list(dict.fromkeys(got)) == ["a", "b"] and len(got) <= 3, commit
        assert world.view().queue == ()


def test_a_timeout_is_recorded_and_later_messages_are_delivered_later() -> None:
    async def flow(ctx: Any) -> Any:
        first = await ctx.queue.next_batch("first", timeout=5)
        await ctx.sleep("nap", 100)
        second = await ctx.queue.next_batch("second", timeout=5)
        return [[m.body for m in first], [m.body for m in second]]

    world = world_of(flow)

    async def script(host: Host, actor_id: str) -> None:
        await asyncio.sleep(20)
        await host.send(actor_id, "work", QueueSend("late"))

    world.live(script, clean=False)
    world.live(to_the_end)
    assert world.view().workflow.output == [[], ["late"]]


def test_the_deadline_of_a_wait_survives_a_restart() -> None:
    timeout = 50.0

    async def flow(ctx: Any) -> Any:
        return await ctx.queue.next_batch("w", timeout=timeout)

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(10), clean=False)
    timeout = 5000
    world.live(to_the_end)
    (entry,) = world.journal()
    assert entry.completed_at == entry.created_at + 50_000


def test_a_sleeping_wait_wakes_at_its_deadline() -> None:
    async def flow(ctx: Any) -> Any:
        return await ctx.queue.next_batch("w", timeout=500)

    world = world_of(flow)

    async def script(host: Host, actor_id: str) -> None:
        await asyncio.sleep(100)
        assert not host.is_awake(actor_id)
        await until(host, actor_id)

    world.live(script)


def test_next_with_a_timeout_raises_and_says_what_to_use() -> None:
    async def flow(ctx: Any) -> None:
        await ctx.queue.next("w", timeout=1)

    assert "next_batch" in reason_of(ended(flow))


def test_no_wait_at_all() -> None:
    async def flow(ctx: Any) -> Any:
        return await ctx.queue.next_batch("w", timeout=0)

    assert ended(flow).output == []


def test_undeclared_queues_are_refused_with_the_nearest_name() -> None:
    async def flow(ctx: Any) -> None:
        await ctx.queue.next("w", names=["wrok"])

    assert "Did you mean 'work'?" in reason_of(ended(flow))


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_senseless_counts_are_refused(count: Any) -> None:
    async def flow(ctx: Any) -> None:
        await ctx.queue.next_batch("w", count=count)

    assert "count is a whole number" in reason_of(ended(flow))


# -- completable -----------------------------------------------------------------------------------------


def test_completing_answers_the_waiting_sender_and_empties_the_queue() -> None:
    async def flow(ctx: Any) -> None:
        message = await ctx.queue.next("w", completable=True)
        await message.complete({"double": message.body * 2})

    world = world_of(flow)
    result = world.live(lambda host, actor: host.send(actor, "work", QueueSend(21, wait=True)))
    assert (result.status, result.response) == ("completed", {"double": 42})
    assert world.view().queue == ()


def test_an_uncompleted_message_is_handed_out_again_with_the_same_id() -> None:
    ids: list[str] = []

    async def slow(step: Any) -> None:
        await asyncio.sleep(5)

    async def flow(ctx: Any) -> None:
        message = await ctx.queue.next("w", completable=True)
        ids.append(message.id)
        await ctx.step("slow", slow)
        await message.complete()

    world = world_of(flow)

    async def script(host: Host, actor_id: str) -> None:
        await host.send(actor_id, "work", QueueSend(1))
        await asyncio.sleep(1)

    world.live(script, clean=False)
    assert [m.id for m in world.view().queue] == [1]
    world.live(to_the_end)
    assert ids == ["1", "1"] and world.view().queue == ()


def test_a_message_handed_out_is_out_of_reach_of_other_waits_and_of_dropping() -> None:
    async def flow(ctx: Any) -> Any:
        message = await ctx.queue.next("w", completable=True)
        await ctx.sleep("nap", 10)
        await message.complete()
        return [m.body for m in await ctx.queue.next_batch("rest", timeout=1, count=9)]

    world = world_of(flow)

    async def script(host: Host, actor_id: str) -> None:
        await host.send(actor_id, "work", QueueSend("held"))
        await asyncio.sleep(1)
        assert await host.drop_messages(actor_id, None) == 0
        await until(host, actor_id)

    world.live(script)
    assert world.view().workflow.output == []


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("twice", "already_completed"),
        ("second wait", "previous_message_not_completed"),
        ("plain", "not_configured"),
    ],
)
def test_messages_used_out_of_turn(what: str, code: str) -> None:
    async def flow(ctx: Any) -> None:
        await ctx.sleep("let them come", 5)
        message = await ctx.queue.next("w", completable=what != "plain")
        if what == "second wait":
            await ctx.queue.next("w2")
        await message.complete()
        await message.complete()

    world = world_of(flow)
    world.live(sends(1, 2))
    failure = world.view().workflow.failure
    assert failure is not None and code in (failure.code or "")


def test_completing_is_nothing_on_replay() -> None:
    async def flow(ctx: Any) -> None:
        message = await ctx.queue.next("w", completable=True)
        await message.complete("once")
        await ctx.sleep("nap", 1000)

    world = world_of(flow, always_replay=True)
    world.live(sends(1))
    assert world.view().workflow.status == "completed"


def test_a_response_that_cannot_be_stored_changes_nothing() -> None:
    async def flow(ctx: Any) -> None:
        message = await ctx.queue.next("w", completable=True)
        with pytest.raises(RivetError, match=r"\$\.bad"):
            await message.complete({"bad": object()})
        await message.complete("good")

    world = world_of(flow)
    result = world.live(lambda host, actor: host.send(actor, "work", QueueSend(1, wait=True)))
    assert result.response == "good"


# -- sending ---------------------------------------------------------------------------------------------


async def waiting_for_nothing(ctx: Any) -> None:
    await ctx.sleep("for ever", 1e9)


def refused(script: Any, **options: Any) -> RivetError:
    world = World(define(waiting_for_nothing, **options))
    with pytest.raises(RivetError) as caught:
        world.live(script)
    assert world.view().queue == () or options.get("max_queue_size")
    return caught.value


def test_a_send_that_is_refused_stores_nothing() -> None:
    assert refused(lambda host, actor: host.send(actor, "wrok", QueueSend(1))).code == "not_declared"
    assert "'work'" in refused(lambda host, actor: host.send(actor, "wrok", QueueSend(1))).message
    assert (
        refused(lambda host, actor: host.send(actor, "work", QueueSend("x" * 70_000))).code
        == "message_too_large"
    )
    assert (
        refused(lambda host, actor: host.send(actor, "work", QueueSend(float("nan")))).code
        == "value_not_encodable"
    )

    async def too_many(host: Host, actor: str) -> None:
        for _ in range(4):
            await host.send(actor, "work", QueueSend(1))

    assert refused(too_many, max_queue_size=3).code == "full"


def test_a_waiting_send_times_out_and_the_message_stays() -> None:
    world = World(define(waiting_for_nothing))
    result = world.live(lambda host, actor: host.send(actor, "work", QueueSend(1, wait=True, timeout=3)))
    assert (result.status, len(world.view().queue)) == ("timedOut", 1)


async def numbering(ctx: Any) -> None:
    """Answers each message with how many there were."""

    async def answer(loop: Any, n: int) -> Any:
        message = await loop.queue.next("w", completable=True)
        await message.complete(n)
        return Loop.continue_(n + 1)

    await ctx.loop("l", answer, state=1)


def test_an_idempotency_key_sends_once_and_answers_the_same() -> None:
    world = world_of(numbering)

    async def script(host: Host, actor: str) -> list[Any]:
        keyed = [host.send(actor, "work", QueueSend("x", wait=True, idempotency_key="k")) for _ in range(3)]
        answers = [result.response for result in await asyncio.gather(*keyed)]
        other = await host.send(actor, "work", QueueSend("y", wait=True, idempotency_key="other"))
        return [*answers, other.response]

    assert world.live(script, clean=False) == [1, 1, 1, 2]
    again = world.live(
        lambda host, actor: host.send(actor, "work", QueueSend("x", wait=True, idempotency_key="k"))
    )
    assert again.response == 1
    world.time += 25 * 3600
    later = world.live(
        lambda host, actor: host.send(actor, "work", QueueSend("x", wait=True, idempotency_key="k"))
    )
    assert later.response == 3


def test_a_key_that_a_client_gave_by_itself_is_kept_until_that_client_has_given_up() -> None:
    world = world_of(numbering)

    def send(number: int) -> Any:
        message = QueueSend("x", wait=True, idempotency_key=f"{WAITING_KEY}{number}")
        return world.live(lambda host, actor: host.send(actor, "work", message), clean=False).response

    def kept() -> int:
        return sum(key.startswith(layout.IDEMPOTENCY) for key, _ in world.rows())

    assert [send(1), send(2), send(1)] == [1, 2, 1]
    world.time += 3600  # nobody is there meanwhile, so nobody could come back
    assert [send(1), send(3), kept()] == [1, 3, 3]

    async def long(host: Host, actor: str) -> None:
        for number in range(100, 110):
            message = QueueSend("x", wait=True, idempotency_key=f"{WAITING_KEY}{number}")
            await host.send(actor, "work", message)
            await asyncio.sleep(100)

    world.live(long, clean=False)
    assert kept() <= 5, "of sixteen minutes the last six"


def test_message_ids_are_never_used_again() -> None:
    async def flow(ctx: Any) -> Any:
        return [(await ctx.queue.next(f"m{i}")).id for i in range(3)]

    world = world_of(flow)
    for _ in range(2):
        world.live(lambda host, actor: host.send(actor, "work", QueueSend(1)), clean=False)
    world.live(lambda host, actor: host.send(actor, "work", QueueSend(1)))
    world.live(to_the_end)
    assert world.view().workflow.output == ["1", "2", "3"]
