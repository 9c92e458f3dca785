"""Work beside the calls, and leaving: the grace period, sleep and destroy on the actor's own wish (spec actors 2)."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from rivetpy import ActorOptions, actor
from rivetpy.actors import ActorDefinition
from rivetpy.cli.launch import FINISHING, Report
from rivetpy.cli.leaving import let_finish
from rivetpy.host import Host, HostEvent
from rivetpy.host.work import Work
from rivetpy.store.memory import MemoryStore
from rivetpy.workflow import workflow
from tests.support.hosting import asleep, make, refused, with_host
from tests.support.jump import run


def now() -> float:
    return asyncio.get_running_loop().time()


# -- work beside the calls -------------------------------------------------------------------------------


def test_keep_awake_keeps_awake_and_gives_the_result() -> None:
    async def work(c: Any) -> str:
        await asyncio.sleep(100)
        return "worked"

    async def start(c: Any) -> str:
        task = c.keep_awake(work(c))
        c.vars["task"] = task
        return "started"

    async def script(host: Host) -> None:
        actor_id = await make(host)
        assert await host.call(actor_id, "start", []) == "started"
        await asyncio.sleep(95)
        assert host.is_awake(actor_id)
        task = host._awake[actor_id].core.vars["task"]
        await asleep(host, actor_id)
        assert task.result() == "worked" and now() < 120

    with_host(actor(vars={}, actions={"start": start}, options=ActorOptions(sleep_timeout=10)), script)


def test_wait_until_does_not_keep_awake_but_is_drained_with_what_it_begins() -> None:
    done: list[str] = []

    async def later(c: Any, name: str, *following: str) -> None:
        await asyncio.sleep(3)
        done.append(name)
        c.state["n"] += 1
        if following:
            c.wait_until(later(c, *following))

    def on_sleep(c: Any) -> None:
        c.wait_until(later(c, "from on_sleep"))

    store = MemoryStore()
    definition = actor(
        state={"n": 0},
        on_sleep=on_sleep,
        actions={"go": lambda c: c.wait_until(later(c, "one", "two", "three"))},
    )

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.call(actor_id, "go", [])
        await host.sleep(actor_id)
        assert sorted(done) == ["from on_sleep", "one", "three", "two"] and now() < 15
        assert (await host.view(actor_id)).state == {"n": 4}

    with_host(definition, script, store)


def test_work_that_is_given_up_before_it_begins_makes_no_noise() -> None:
    async def nothing() -> None: ...

    async def script() -> None:
        work = Work(nothing, lambda: None, lambda what, error: None)
        work.wait_until(nothing())
        task = work.keep_awake(nothing())
        work.give_up()
        await asyncio.wait([task])
        assert task.cancelled() and not work.keeping

    run(script())
    gc.collect()  # a coroutine that nobody awaited would say so here


def test_wait_until_is_cut_off_at_the_grace_period_and_its_failure_is_reported() -> None:
    events: list[HostEvent] = []
    ended: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.sleep(1e6)
        finally:
            ended.append("cancelled")

    async def broken() -> None:
        raise ValueError("oops")

    def go(c: Any) -> None:
        c.wait_until(endless())
        c.wait_until(broken())

    async def script(host: Host) -> float:
        actor_id = await make(host)
        await host.call(actor_id, "go", [])
        await host.sleep(actor_id)
        await asyncio.sleep(0)
        return now()

    definition = actor(actions={"go": go}, options=ActorOptions(sleep_grace_period=4))
    assert with_host(definition, script, events=events) == pytest.approx(4, abs=0.1)
    assert ended == ["cancelled"]
    assert [event.text for event in events] == ["wait_until failed: ValueError: oops"]


def test_what_runs_beside_a_call_becomes_durable_when_it_ends() -> None:
    async def later(c: Any) -> None:
        await asyncio.sleep(3)
        c.state["n"] = 1

    store = MemoryStore()
    definition = actor(state={"n": 0}, actions={"go": lambda c: c.wait_until(later(c))})

    async def script(host: Host) -> None:
        await host.call(await make(host), "go", [])
        await asyncio.sleep(5)

    with_host(definition, script, store, clean=False)

    async def stored(host: Host) -> Any:
        row = await host.find("default", "a", ("k",))
        return (await host.view(row.id)).state  # type: ignore[union-attr]

    assert with_host(definition, stored, store) == {"n": 1}


def test_an_on_sleep_that_hangs_or_fails_holds_nobody_up() -> None:
    events: list[HostEvent] = []

    async def hang(c: Any) -> None:
        if c.key == ("broken",):
            raise ValueError("oops")
        await asyncio.sleep(1e6)

    async def script(host: Host) -> float:
        hanging, broken = await make(host), await make(host, "broken")
        await host.sleep(broken)
        await host.sleep(hanging)
        assert not host.is_awake(hanging) and await host.call(hanging, "ping", []) == "pong"
        return now()

    definition = actor(on_sleep=hang, actions={"ping": lambda c: "pong"})
    assert with_host(definition, script, events=events) == pytest.approx(15, abs=0.1)
    assert events[0].text == "on_sleep failed: ValueError: oops" and "TimeoutError" in events[1].text


def test_abort_is_set_while_a_call_is_still_running() -> None:
    async def patient(c: Any) -> str:
        await c.abort.wait()
        return "told"

    async def script(host: Host) -> None:
        actor_id = await make(host)
        call = asyncio.ensure_future(host.call(actor_id, "patient", []))
        await asyncio.sleep(1)
        await host.sleep(actor_id)
        assert await call == "told"

    with_host(actor(actions={"patient": patient}), script)


# -- sleep and destroy on its own wish -------------------------------------------------------------------


def test_an_actor_may_put_itself_to_sleep() -> None:
    def rest(c: Any) -> str:
        c.state["n"] += 1
        c.sleep()
        return "good night"

    async def script(host: Host) -> None:
        actor_id = await make(host)
        assert await host.call(actor_id, "rest", []) == "good night"
        await asyncio.sleep(1)
        assert not host.is_awake(actor_id)
        assert (await host.view(actor_id)).state == {"n": 1}

    with_host(actor(state={"n": 0}, actions={"rest": rest}), script)


def test_an_actor_may_destroy_itself_and_its_caller_gets_the_answer() -> None:
    async def end(c: Any) -> str:
        c.state["n"] = 1
        c.destroy()
        await asyncio.sleep(2)
        return "bye"

    async def script(host: Host) -> None:
        actor_id = await make(host)
        assert await host.call(actor_id, "end", []) == "bye"
        await asyncio.sleep(1)
        assert await refused(host.call(actor_id, "end", [])) == "actor.not_found"
        assert await make(host) != actor_id

    with_host(actor(state={"n": 0}, actions={"end": end}), script)


def test_destroy_wins_over_sleep() -> None:
    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.sleep(actor_id)
        await asyncio.sleep(1)
        row = await host.get(actor_id)
        assert row is not None and row.destroyed_at is not None

    with_host(actor(on_sleep=lambda c: c.destroy()), script)


def test_a_destroy_asked_for_while_the_engine_stops_is_done() -> None:
    store = MemoryStore()

    async def script(host: Host) -> None:
        await make(host)

    with_host(actor(on_sleep=lambda c: c.destroy()), script, store)

    async def found(host: Host) -> Any:
        return await host.find("default", "a", ("k",))

    assert with_host(actor(), found, store) is None


def test_calls_come_through_while_the_actor_goes_to_sleep_again_and_again() -> None:
    async def on_sleep(c: Any) -> None:
        await asyncio.sleep(0.05)

    def add(c: Any) -> int:
        c.state["n"] += 1
        return int(c.state["n"])

    async def script(host: Host) -> None:
        actor_id = await make(host)
        answers: list[int] = []

        async def knock() -> None:
            for _ in range(100):
                answers.append(await host.call(actor_id, "add", []))
                await asyncio.sleep(0.02)

        async def hush() -> None:
            for _ in range(100):
                await host.sleep(actor_id)
                await asyncio.sleep(0.01)

        await asyncio.gather(knock(), hush())
        assert answers == list(range(1, 101))

    with_host(actor(state={"n": 0}, on_sleep=on_sleep, actions={"add": add}), script)


# -- a reload lets finish what runs ---------------------------------------------------------------------------


def slow_actor() -> ActorDefinition:
    async def act(c: Any, seconds: float) -> None:
        await asyncio.sleep(seconds)

    return actor(actions={"act": act})


def test_an_engine_that_leaves_lets_the_actions_end_that_run() -> None:
    async def script(host: Host) -> tuple[float, list[Report]]:
        actor_id, told = await make(host), list[Report]()
        running = [asyncio.create_task(host.call(actor_id, "act", [seconds])) for seconds in (0.1, 4)]
        await asyncio.sleep(0.01)
        leaving = asyncio.create_task(let_finish(host, told.append))
        await asyncio.sleep(1)
        later = asyncio.create_task(host.call(actor_id, "act", [100]))  # served, and not waited for
        await leaving
        assert all(each.done() for each in running) and not later.done()
        later.cancel()
        return asyncio.get_running_loop().time(), told

    ended, told = with_host(slow_actor(), script)
    assert 4 <= ended < 4.1 and told == [{"finishing": 1}]


def test_a_step_that_runs_is_let_finish_and_the_next_is_not_waited_for() -> None:
    async def work(step: Any, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def run(ctx: Any) -> None:
        await ctx.step("one", work, 4)
        await ctx.step("two", work, 100)

    async def script(host: Host) -> float:
        await make(host)
        await asyncio.sleep(0.01)
        await let_finish(host, lambda report: None)
        return now()

    assert 4 <= with_host(actor(run=workflow(run)), script) < 4.1


def test_an_action_that_takes_too_long_holds_it_up_for_a_bounded_time() -> None:
    async def script(host: Host) -> float:
        actor_id = await make(host)
        action = asyncio.create_task(host.call(actor_id, "act", [1e6]))
        await asyncio.sleep(0.01)
        await let_finish(host, lambda report: None)
        action.cancel()
        return asyncio.get_running_loop().time()

    assert FINISHING <= with_host(slow_actor(), script) < FINISHING + 0.1


def test_without_actions_it_leaves_at_once() -> None:
    async def script(host: Host) -> float:
        await host.call(await make(host), "act", [0])
        began = asyncio.get_running_loop().time()
        await let_finish(host, lambda report: pytest.fail("nobody waits"))
        return asyncio.get_running_loop().time() - began

    assert with_host(slow_actor(), script) == 0
