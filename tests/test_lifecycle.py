"""An actor's life: hooks in order, vars, and what it does to the state (spec actors 2)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rivetpy import UserError, actor, queue
from rivetpy.host import Host, HostEvent
from rivetpy.store import Listing
from rivetpy.store.memory import MemoryStore
from rivetpy.wire.bodies import QueueSend
from rivetpy.workflow import workflow
from tests.support.flows import to_the_end, world_of
from tests.support.hosting import make, refused, with_host


def now() -> float:
    return asyncio.get_running_loop().time()


def diary(log: list[Any], **more: Any) -> Any:
    """An actor that writes down every hook it gets."""

    async def run(ctx: Any) -> None:
        log.append("run")
        await ctx.sleep("long", 1e6)

    def create_vars(c: Any) -> Any:
        log.append(("create_vars", c.state))
        return {"born": True}

    async def on_wake(c: Any) -> None:
        log.append(("on_wake", c.vars))

    return actor(
        db=True,
        on_migrate=lambda c: log.append("on_migrate"),
        create_state=lambda c, given: log.append(("create_state", given)) or {"n": given},
        on_create=lambda c: log.append(("on_create", c.state, c.input)),
        create_vars=create_vars,
        on_wake=on_wake,
        on_sleep=lambda c: log.append(("on_sleep", c.aborted)),
        on_destroy=lambda c: log.append(("on_destroy", c.aborted)),
        run=workflow(run),
        **more,
    )


def test_the_hooks_come_in_order_at_create_wake_sleep_and_destroy() -> None:
    log: list[Any] = []

    async def script(host: Host) -> None:
        actor_id = await make(host, input=7)
        await asyncio.sleep(1)
        assert log == [
            "on_migrate",
            ("create_state", 7),
            ("on_create", {"n": 7}, 7),
            ("create_vars", {"n": 7}),
            ("on_wake", {"born": True}),
            "run",
        ]
        log.clear()
        await host.sleep(actor_id)
        assert log == [("on_sleep", True)]
        log.clear()
        await host.call(actor_id, "ping", [])
        await asyncio.sleep(1)
        assert log == ["on_migrate", ("create_vars", {"n": 7}), ("on_wake", {"born": True}), "run"]
        log.clear()
        await host.destroy(actor_id)
        assert log == [("on_destroy", True)]

    with_host(diary(log, actions={"ping": lambda c: None}), script)


def test_a_sleeping_actor_is_told_of_its_end() -> None:
    log: list[Any] = []

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await asyncio.sleep(1)
        await host.sleep(actor_id)
        log.clear()
        await host.destroy(actor_id)
        assert log == [
            "on_migrate",
            ("create_vars", {"n": None}),
            ("on_wake", {"born": True}),
            ("on_destroy", True),
        ]
        assert (await host.get(actor_id)).destroyed_at is not None  # type: ignore[union-attr]

    with_host(diary(log), script)


def test_an_actor_is_made_with_all_that_on_create_did_or_not_at_all() -> None:
    async def on_create(c: Any) -> None:
        c.state["n"] += 1
        await c.queue.send("jobs", "first")
        if c.input == "bad":
            raise UserError("no", code="no")

    store = MemoryStore()

    async def script(host: Host) -> None:
        assert await refused(host.create("default", "a", ("bad",), "bad")) == "user.no"
        assert await host.find("default", "a", ("bad",)) is None
        row = await host.create("default", "a", ("good",))
        view = await host.view(row.id)
        assert view.state == {"n": 1} and len(view.queue) == 1
        rows, _ = await store.list(Listing("default", include_destroyed=True))
        assert [each.id for each in rows] == [row.id]

    with_host(actor(state={"n": 0}, queues={"jobs": queue()}, on_create=on_create), script, store)


def test_what_hooks_change_in_the_state_is_durable() -> None:
    def bump(c: Any, *_: Any) -> None:
        c.state["n"] += 1

    store = MemoryStore()
    definition = actor(state={"n": 0}, on_wake=bump, on_sleep=bump, on_connect=bump, on_disconnect=bump,
                       actions={"get": lambda c: c.state["n"]})  # fmt: skip

    async def life(host: Host) -> Any:
        actor_id = await make(host)
        await host.sleep(actor_id)
        return await host.call(actor_id, "get", [])

    assert with_host(definition, life, store, clean=False) == 4  # on_wake, on_sleep, on_wake, on_connect
    assert with_host(definition, look, store, clean=False) == 5


async def look(host: Host) -> Any:
    row = await host.find("default", "a", ("k",))
    assert row is not None
    return (await host.view(row.id)).state["n"]


def test_an_actor_that_cant_wake_says_why_and_can_be_tried_again() -> None:
    broken = [True]

    async def on_wake(c: Any) -> None:
        if broken[0]:
            raise UserError("not today", code="closed")

    async def script(host: Host) -> None:
        row_of = lambda: host.find("default", "a", ("k",))  # noqa: E731
        assert await refused(host.get_or_create("default", "a", ("k",))) == "user.closed"
        row = await row_of()
        assert row is not None and not row.awake and not host.is_awake(row.id)
        assert await refused(host.call(row.id, "ping", [])) == "user.closed"
        broken[0] = False
        assert await host.call(row.id, "ping", []) == "pong"

    with_host(actor(on_wake=on_wake, actions={"ping": lambda c: "pong"}), script)


def test_a_workflow_whose_actor_cant_wake_is_tried_by_itself() -> None:
    tries: list[float] = []
    done: list[str] = []

    def on_wake(c: Any) -> None:
        tries.append(now())
        if len(tries) < 3:
            raise ValueError("not yet")

    async def run(ctx: Any) -> None:
        done.append("ran")

    async def script(host: Host) -> None:
        with pytest.raises(ValueError, match="not yet"):
            await make(host)
        await asyncio.sleep(60)
        assert done == ["ran"] and len(tries) == 3

    with_host(actor(on_wake=on_wake, run=workflow(run)), script)


def test_create_vars_has_its_timeout() -> None:
    async def slow(c: Any) -> None:
        await asyncio.sleep(100)

    async def script(host: Host) -> float:
        assert await refused(host.get_or_create("default", "a", ())) == "actor.hook_timed_out"
        return now()

    assert with_host(actor(create_vars=slow), script) == pytest.approx(5, abs=0.1)


def test_vars_are_of_one_life_and_one_actor_only() -> None:
    def count(c: Any) -> int:
        c.vars["n"] += 1
        return int(c.vars["n"])

    default = {"n": 0}

    async def script(host: Host) -> None:
        first, second = await make(host, "1"), await make(host, "2")
        assert [await host.call(first, "count", []) for _ in range(2)] == [1, 2]
        assert await host.call(second, "count", []) == 1
        await host.sleep(first)
        assert await host.call(first, "count", []) == 1
        assert default == {"n": 0}

    with_host(actor(vars=default, actions={"count": count}), script)


def test_steps_see_the_vars() -> None:
    seen: list[Any] = []

    async def run(ctx: Any) -> None:
        await ctx.step("look", lambda step: seen.append(step.vars["n"]))

    async def script(host: Host) -> None:
        await make(host)
        await asyncio.sleep(1)
        assert seen == [5]

    with_host(actor(vars={"n": 5}, run=workflow(run)), script)


def test_on_state_change_sees_every_durable_change_before_the_answer() -> None:
    seen: list[int] = []

    def changed(c: Any, state: Any) -> None:
        seen.append(state["n"])
        state["changes"] = len(seen)
        c.broadcast("changed", state["n"])

    def add(c: Any, by: int) -> int:
        c.state["n"] += by
        return int(c.state["n"])

    async def in_step(step: Any) -> None:
        step.state["n"] += 100

    async def run(ctx: Any) -> None:
        await ctx.queue.next("go")
        await ctx.step("add", in_step)

    store = MemoryStore()
    definition = actor(
        state={"n": 0, "changes": 0},
        queues={"go": queue()},
        on_state_change=changed,
        run=workflow(run),
        actions={"add": add, "get": lambda c: c.state},
    )

    async def script(host: Host) -> None:
        actor_id = await make(host)
        for by in (1, 0, 2):
            await host.call(actor_id, "add", [by])
        assert seen == [1, 3]
        await host.send(actor_id, "go", QueueSend(1))
        await asyncio.sleep(1)
        await host.set_state(actor_id, {"n": 7, "changes": 0})
        assert seen == [1, 3, 103, 7]

    with_host(definition, script, store, clean=False)

    async def stored(host: Host) -> Any:
        row = await host.find("default", "a", ("k",))
        return (await host.view(row.id)).state  # type: ignore[union-attr]

    assert with_host(definition, stored, store) == {"n": 7, "changes": 4}


def test_a_failing_on_state_change_loses_nothing() -> None:
    events: list[HostEvent] = []

    def broken(c: Any, state: Any) -> None:
        raise ValueError("oops")

    def add(c: Any) -> int:
        c.state["n"] += 1
        return int(c.state["n"])

    async def script(host: Host) -> None:
        assert await host.call(await make(host), "add", []) == 1

    with_host(actor(state={"n": 0}, on_state_change=broken, actions={"add": add}), script, events=events)
    assert "on_state_change failed: ValueError: oops" in [event.text for event in events]


def test_on_before_action_response_has_the_last_word() -> None:
    async def wrap(c: Any, action: str, args: Any, output: Any) -> Any:
        c.state["calls"] += 1
        return [action, args, output, c.state["calls"]]

    async def script(host: Host) -> None:
        assert await host.call(await make(host), "echo", [1, 2]) == ["echo", [1, 2], 3, 1]

    definition = actor(
        state={"calls": 0}, on_before_action_response=wrap, actions={"echo": lambda c, a, b: a + b}
    )
    with_host(definition, script)


def test_a_workflow_that_goes_on_after_a_crash_is_said_to_resume() -> None:
    async def flow(ctx: Any) -> None:
        await ctx.sleep("nap", 10)

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(1), clean=False)
    assert [event.kind for event in world.events] == ["run_started"]
    world.live(to_the_end)
    assert [event.kind for event in world.events] == ["run_started", "run_resumed", "run_completed"]
