"""schedule: calls to come are durable, wake the actor, and are made once (spec actors 2)."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any

import pytest

from rivetpy import ActorOptions, actor
from rivetpy.host import Host, HostEvent
from rivetpy.store.memory import MemoryStore
from rivetpy.workflow import workflow
from tests.support.hosting import asleep, make, refused, with_host
from tests.support.jump import EPOCH
from tests.support.world import World

NOW = dt.datetime.fromtimestamp(EPOCH / 1000, dt.UTC)


def now() -> float:
    return round(asyncio.get_running_loop().time(), 1)


def called(c: Any, *args: Any) -> None:
    c.state["calls"].append([now(), *args])


async def after(c: Any, delay: Any, *args: Any) -> str:
    return str(await c.schedule.after(delay, "called", *args))


ACTIONS: dict[str, Any] = {
    "called": called,
    "after": after,
    "calls": lambda c: c.state["calls"],
    "list": lambda c: c.schedule.list(),
    "cancel": lambda c, id: c.schedule.cancel(id),
}


def scheduler(**more: Any) -> Any:
    return actor(state={"calls": []}, **({"actions": ACTIONS} | more))


def test_calls_come_in_their_time_and_wake_the_actor() -> None:
    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.call(actor_id, "after", [500, "late", {"x": 1}])
        await host.call(actor_id, "after", [dt.timedelta(seconds=1), "soon"])
        await asleep(host, actor_id)
        await asyncio.sleep(1000)
        assert await host.call(actor_id, "calls", []) == [[1.0, "soon"], [500.0, "late", {"x": 1}]]

    with_host(scheduler(options=ActorOptions(sleep_timeout=10)), script)


def test_at_a_moment_get_list_and_cancel() -> None:
    async def work(c: Any) -> Any:
        first = await c.schedule.at(NOW + dt.timedelta(hours=2), "called", "two")
        second = await c.schedule.at(EPOCH / 1000 + 3600, "called", "one")
        assert [call.args for call in await c.schedule.list()] == [["one"], ["two"]]
        call = await c.schedule.get(first)
        assert (call.id, call.at, call.action) == (first, NOW + dt.timedelta(hours=2), "called")
        assert await c.schedule.cancel(first) and not await c.schedule.cancel(first)
        assert await c.schedule.get(first) is None
        return second

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.call(actor_id, "work", [])
        await asyncio.sleep(10_000)
        assert await host.call(actor_id, "calls", []) == [[3600.0, "one"]]
        assert await host.call(actor_id, "list", []) == []

    with_host(scheduler(actions=ACTIONS | {"work": work}), script)


def test_what_was_missed_is_called_once_and_late() -> None:
    store = MemoryStore()

    async def plan(host: Host) -> None:
        actor_id = await make(host)
        await host.call(actor_id, "after", [10, "missed"])
        await host.call(actor_id, "after", [5000, "to come"])

    async def later(host: Host) -> Any:
        await asyncio.sleep(5000)
        return await host.call(await make(host), "calls", [])

    for clean in (True, False):
        store = MemoryStore()
        with_host(scheduler(), plan, store, clean=clean)
        assert with_host(scheduler(), later, store, start=1000) == [[1000.0, "missed"], [5000.0, "to come"]]


def test_the_state_and_the_end_of_a_call_are_one_commit_wherever_the_engine_dies() -> None:
    async def script(host: Host, actor_id: str) -> Any:
        if not await host.call(actor_id, "list", []):
            await host.call(actor_id, "after", [10, "x"])
        await asyncio.sleep(100)
        return len(await host.call(actor_id, "calls", []))

    async def look(host: Host, actor_id: str) -> Any:
        await asyncio.sleep(100)
        return len(await host.call(actor_id, "calls", []))

    clean = World(scheduler(actions=ACTIONS | {"list": names}))
    clean.live(script)
    assert clean.commits >= 3
    for n in range(1, clean.commits + 1):
        for where in ({"die_before": n}, {"die_after": n}):
            world = World(scheduler(actions=ACTIONS | {"list": names}))
            try:
                world.live(script, **where)  # type: ignore[arg-type]
            except BaseException as error:
                assert type(error).__name__ == "Died", error
            assert world.live(look) <= 1, where


async def names(c: Any) -> list[str]:
    return [call.id for call in await c.schedule.list()]


def test_a_call_that_fails_is_reported_and_not_made_again() -> None:
    events: list[HostEvent] = []
    tries: list[float] = []

    def broken(c: Any) -> None:
        tries.append(now())
        raise ValueError("oops")

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.call(actor_id, "plan", [])
        await asyncio.sleep(1000)
        assert await host.call(actor_id, "names", []) == []

    actions = {"broken": broken, "plan": lambda c: c.schedule.after(5, "broken"), "names": names}
    with_host(scheduler(actions=actions), script, events=events)
    assert tries == [5.0]
    assert [event.text for event in events] == ["scheduled action 'broken' failed: ValueError: oops"]


def test_a_call_that_was_cut_off_is_made_again() -> None:
    begun: list[float] = []
    store = MemoryStore()

    async def slow(c: Any) -> None:
        begun.append(now())
        await asyncio.sleep(20)
        c.state["calls"].append("done")

    definition = scheduler(actions=ACTIONS | {"slow": slow, "plan": lambda c: c.schedule.after(5, "slow")})

    async def plan(host: Host) -> None:
        await host.call(await make(host), "plan", [])
        await asyncio.sleep(10)

    async def again(host: Host) -> Any:
        await asyncio.sleep(30)
        return await host.call(await make(host), "calls", [])

    with_host(definition, plan, store, clean=False)
    assert with_host(definition, again, store, start=10) == ["done"] and begun == [5.0, 10.0]


def test_mistakes_are_refused_when_they_are_made() -> None:
    async def script(host: Host) -> None:
        actor_id = await make(host)
        assert await refused(host.call(actor_id, "wrong", [])) == "actor.action_not_found"
        assert await refused(host.call(actor_id, "after", [1, object()])) == "actor.value_not_encodable"
        with pytest.raises(ValueError, match="beyond the year 9999"):
            await host.call(actor_id, "after", [float("inf")])
        with pytest.raises(ValueError, match="naive"):
            await host.call(actor_id, "naive", [])

    actions = ACTIONS | {
        "wrong": lambda c: c.schedule.after(1, "caled"),
        "naive": lambda c: c.schedule.at(dt.datetime(2030, 1, 1), "called"),
    }
    with_host(scheduler(actions=actions), script)


def test_a_steps_plans_are_made_with_it() -> None:
    async def plan(step: Any) -> str:
        id = await step.schedule.after(5, "called", step.attempt)
        assert [call.id for call in await step.schedule.list()] == [id]
        if step.attempt == 1:
            raise ValueError("again")
        await asyncio.sleep(20)
        return str(id)

    async def flow(ctx: Any) -> None:
        await ctx.step("plan", plan)

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await asyncio.sleep(15)
        assert await host.call(actor_id, "calls", []) == []
        await asyncio.sleep(15)
        assert await host.call(actor_id, "calls", []) == [[20.2, 2]]

    with_host(scheduler(run=workflow(flow)), script)


def test_a_plan_of_on_create_is_there_from_the_beginning() -> None:
    async def on_create(c: Any) -> None:
        await c.schedule.after(0, "called", "first")

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await asyncio.sleep(1)
        assert await host.call(actor_id, "calls", []) == [[0.0, "first"]]

    with_host(scheduler(on_create=on_create), script)


def test_a_cancelled_workflow_leaves_the_actors_calls_to_come() -> None:
    async def flow(ctx: Any) -> None:
        await ctx.sleep("long", 1e6)

    store = MemoryStore()

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.call(actor_id, "after", [50, "x"])
        await host.cancel(actor_id)
        await host.sleep(actor_id)
        row = await host.get(actor_id)
        assert row is not None and row.alarm == EPOCH + 50_000
        await asyncio.sleep(60)
        assert await host.call(actor_id, "calls", []) == [[50.0, "x"]]

    with_host(scheduler(run=workflow(flow)), script, store)
