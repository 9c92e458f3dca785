"""The host: identity, interleaved calls, sleeping and waking, a failing store (spec actors, workflows 12)."""

from __future__ import annotations

import asyncio
import gc
import warnings
from typing import Any

import pytest

from rivetpy import ActorOptions, RivetError, UserError, actor, queue, setup
from rivetpy.host import Host
from rivetpy.store import ActorRow, Batch
from rivetpy.store.faulty import FaultyStore
from rivetpy.store.memory import MemoryStore
from rivetpy.wire.bodies import QueueSend
from rivetpy.workflow import workflow
from tests.support.flows import define, to_the_end, world_of
from tests.support.jump import JumpClock, run
from tests.support.world import World, until

# -- identity --------------------------------------------------------------------------------------------


def with_host(definition: Any, script: Any, store: Any = None) -> Any:
    async def life() -> Any:
        host = Host(setup(use={"a": definition}), store or MemoryStore(), JumpClock())
        await host.start()
        try:
            return await script(host)
        finally:
            await host.stop()

    return run(life())


def test_a_hundred_callers_make_one_actor() -> None:
    async def script(host: Host) -> None:
        made = await asyncio.gather(*(host.get_or_create("default", "a", ("k",)) for _ in range(100)))
        assert len({row.id for row, _ in made}) == 1 and sum(created for _, created in made) == 1

    with_host(actor(state={"n": 0}), script)


def test_create_refuses_a_taken_key_and_destroy_frees_it() -> None:
    async def script(host: Host) -> None:
        first = await host.create("default", "a", ("k",), {"x": 1})
        with pytest.raises(RivetError, match="already in use") as caught:
            await host.create("default", "a", ("k",))
        assert caught.value.metadata == {"existing_actor_id": first.id, "key": "k"}
        await host.destroy(first.id)
        assert await host.find("default", "a", ("k",)) is None
        with pytest.raises(RivetError, match="not found"):
            await host.call(first.id, "get", [])
        second = await host.create("default", "a", ("k",))
        assert second.id != first.id

    with_host(actor(state={"n": 0}), script)


def test_keys_that_look_alike_are_different_actors() -> None:
    async def script(host: Host) -> None:
        keys = [("a",), ("A",), ("a", "b"), ("a/b",), ("a b",), (), ("é",), ("e\u0301",), ("",)]
        rows = [(await host.get_or_create("default", "a", key))[0].id for key in keys]
        assert len(set(rows)) == len(keys)

    with_host(actor(state={"n": 0}), script)


def test_an_unknown_actor_names_the_nearest() -> None:
    async def script(host: Host) -> None:
        with pytest.raises(RivetError, match="Did you mean 'a'") as caught:
            await host.get_or_create("default", "aa", ())
        assert caught.value.code == "not_configured"

    with_host(actor(state={"n": 0}), script)


def test_create_state_sees_the_input_and_its_failure_stores_nothing() -> None:
    def create(c: Any, given: Any) -> dict[str, Any]:
        if given == "bad":
            raise UserError("no such plan", code="no_plan")
        return {"plan": given, "key": list(c.key)}

    store = MemoryStore()

    async def script(host: Host) -> None:
        row = await host.create("default", "a", ("k",), "gold")
        assert await host.call(row.id, "get", []) == {"plan": "gold", "key": ["k"]}
        with pytest.raises(UserError):
            await host.create("default", "a", ("other",), "bad")
        assert await host.find("default", "a", ("other",)) is None

    with_host(actor(create_state=create, actions={"get": lambda c: c.state}), script, store)


# -- actions ---------------------------------------------------------------------------------------------


async def nap(ctx: Any) -> None:
    await ctx.sleep("nap", 1e9)


def test_an_actions_change_is_durable_before_its_answer() -> None:
    def add(c: Any, by: int) -> int:
        c.state["n"] += by
        return int(c.state["n"])

    world = World(define(nap, actions={"add": add}))
    assert world.live(lambda host, actor: host.call(actor, "add", [5]), clean=False) == 5
    assert world.view().state == {"n": 5}


def test_reading_writes_nothing() -> None:
    world = World(define(nap, actions={"get": lambda c: c.state}))

    async def script(host: Host, actor_id: str) -> None:
        await asyncio.sleep(1)
        before = host._store.store.commits  # type: ignore[attr-defined]
        for _ in range(5):
            assert await host.call(actor_id, "get", []) == {"n": 0}
        assert host._store.store.commits == before  # type: ignore[attr-defined]

    world.live(script)


def test_actions_interleave_at_awaits() -> None:
    async def slow(c: Any) -> list[str]:
        await asyncio.sleep(5)
        return ["slow"]

    world = World(define(nap, actions={"slow": slow, "quick": lambda c: ["quick"]}))

    async def script(host: Host, actor_id: str) -> list[list[str]]:
        done: list[list[str]] = []

        async def call(name: str) -> None:
            done.append(await host.call(actor_id, name, []))

        await asyncio.gather(call("slow"), call("quick"))
        return done

    assert world.live(script) == [["quick"], ["slow"]]


def test_a_running_steps_change_is_never_stored_by_an_action() -> None:
    """The step changed the state, then waits: an action's answer waits with it, so no crash can split the step."""

    async def half(step: Any) -> None:
        step.state["n"] += 100
        await asyncio.sleep(10)

    async def flow(ctx: Any) -> None:
        await ctx.sleep("let the action in", 1)
        await ctx.step("half", half)
        await ctx.sleep("rest", 1e6)

    def add(c: Any) -> int:
        c.state["n"] += 1
        return int(c.state["n"])

    world = World(define(flow, actions={"add": add, "get": lambda c: c.state["n"]}))

    async def crash_in_the_middle(host: Host, actor_id: str) -> None:
        await asyncio.sleep(5)
        assert await host.call(actor_id, "get", []) == 100
        adding = asyncio.ensure_future(host.call(actor_id, "add", []))
        await asyncio.sleep(1)
        assert not adding.done()
        adding.cancel()

    world.live(crash_in_the_middle, clean=False)
    assert world.view().state == {"n": 0}

    async def to_the_end_of_the_step(host: Host, actor_id: str) -> float:
        await asyncio.sleep(5)
        assert await host.call(actor_id, "add", []) == 101
        return asyncio.get_running_loop().time()

    assert world.live(to_the_end_of_the_step, clean=False) == pytest.approx(16, abs=0.1)
    assert world.view().state == {"n": 101}


def test_an_action_before_the_steps_change_is_not_held_up() -> None:
    async def late_change(step: Any) -> None:
        await asyncio.sleep(10)
        step.state["n"] += 100

    async def flow(ctx: Any) -> None:
        await ctx.step("s", late_change)

    def add(c: Any) -> None:
        c.state["n"] += 1

    world = World(define(flow, actions={"add": add}))

    async def script(host: Host, actor_id: str) -> float:
        await asyncio.sleep(1)
        await host.call(actor_id, "add", [])
        return asyncio.get_running_loop().time()

    assert world.live(script, clean=False) == pytest.approx(1)
    assert world.view().state == {"n": 1}


def test_what_an_action_may_raise() -> None:
    async def slow(c: Any) -> None:
        await asyncio.sleep(100)

    def user(c: Any) -> None:
        raise UserError("not you", code="forbidden", metadata={"a": 1})

    def bad(c: Any) -> Any:
        return {"x": [object()]}

    def spoil(c: Any) -> None:
        c.state["n"] = {1, object()}

    actions = {"slow": slow, "user": user, "bad": bad, "spoil": spoil, "get": lambda c: c.state}
    world = World(define(nap, actions=actions, action_timeout=3))

    async def script(host: Host, actor_id: str) -> list[tuple[str, str]]:
        codes = []
        for name in ("slow", "user", "bad", "spoil", "gte"):
            with pytest.raises(RivetError) as caught:
                await host.call(actor_id, name, [])
            codes.append((caught.value.group, caught.value.code))
            if name == "bad":
                assert "action 'bad' returned a value that can't be sent: " in caught.value.message
        assert await host.call(actor_id, "get", []) == {"n": 0}
        return codes

    assert world.live(script) == [
        ("actor", "action_timed_out"),
        ("user", "forbidden"),
        ("actor", "value_not_encodable"),
        ("actor", "value_not_encodable"),
        ("actor", "action_not_found"),
    ]


def test_an_action_may_send_to_its_own_queue() -> None:
    async def flow(ctx: Any) -> Any:
        return (await ctx.queue.next("w")).body

    async def post(c: Any, body: Any) -> None:
        await c.queue.send("work", body)

    world = World(define(flow, actions={"post": post}))

    async def script(host: Host, actor_id: str) -> None:
        await host.call(actor_id, "post", ["hello"])
        await until(host, actor_id)

    world.live(script)
    assert world.view().workflow.output == "hello"


# -- sleeping and waking ---------------------------------------------------------------------------------


def test_an_idle_actor_is_put_away_and_woken_by_message_call_and_timer() -> None:
    async def flow(ctx: Any) -> Any:
        message = await ctx.queue.next("w")
        await ctx.sleep("nap", 1000)
        return message.body

    world = World(define(flow, actions={"get": lambda c: c.state}, sleep_timeout=10))

    async def script(host: Host, actor_id: str) -> None:
        await asyncio.sleep(30)
        assert not host.is_awake(actor_id)
        await host.call(actor_id, "get", [])
        assert host.is_awake(actor_id)
        await asyncio.sleep(30)
        assert not host.is_awake(actor_id)
        await host.send(actor_id, "work", QueueSend("woken"))
        await asyncio.sleep(100)
        assert not host.is_awake(actor_id)
        await until(host, actor_id, "completed", seconds=2000)

    world.live(script)
    assert world.view().workflow.output == "woken"


def test_no_sleep_keeps_an_actor_in_memory() -> None:
    world = World(define(nap, no_sleep=True))

    async def script(host: Host, actor_id: str) -> None:
        await asyncio.sleep(1e6)
        assert host.is_awake(actor_id)

    world.live(script)


def test_callers_never_notice_an_actor_going_to_sleep() -> None:
    def add(c: Any) -> int:
        c.state["n"] += 1
        return int(c.state["n"])

    world = World(define(nap, actions={"add": add}))

    async def script(host: Host, actor_id: str) -> list[int]:
        async def caller() -> list[int]:
            return [await host.call(actor_id, "add", []) for _ in range(100)]

        async def sleeper() -> None:
            for _ in range(100):
                await host.sleep(actor_id)

        answers, *_ = await asyncio.gather(caller(), sleeper(), sleeper())
        return answers

    assert world.live(script) == list(range(1, 101))
    assert world.view().state == {"n": 100}


def test_many_sleeping_actors_wake_when_due_and_cost_nothing_before() -> None:
    async def flow(ctx: Any) -> None:
        await ctx.sleep("nap", 1000)

    definition = actor(run=workflow(flow), options=ActorOptions(sleep_timeout=1))

    async def script(host: Host) -> None:
        rows = [(await host.get_or_create("default", "a", (str(i),)))[0] for i in range(300)]
        await asyncio.sleep(500)
        assert not any(host.is_awake(row.id) for row in rows) and host._awake == {} == host._idle._timers
        await asyncio.sleep(600)
        statuses = {(await host.view(row.id)).workflow.status for row in rows}  # type: ignore[union-attr]
        assert statuses == {"completed"}

    with_host(definition, script)


def test_everything_goes_on_by_itself_after_a_restart() -> None:
    """A running step, a due timer, a waiting message, a far timer: nobody has to knock."""
    ran: list[str] = []

    async def slow(step: Any) -> None:
        ran.append("slow")
        await asyncio.sleep(50)

    async def running(ctx: Any) -> None:
        await ctx.step("slow", slow, timeout=None)

    async def short(ctx: Any) -> None:
        await ctx.sleep("short", 20)

    async def message(ctx: Any) -> None:
        await ctx.sleep("a moment", 5)
        await ctx.queue.next("w")

    for clean in (True, False):
        for flow in (running, short, message):
            world = world_of(flow)

            async def script(host: Host, actor_id: str) -> None:
                await host.send(actor_id, "work", QueueSend(1))
                await asyncio.sleep(1)

            world.live(script, clean=clean)
            world.live(lambda host, actor: asyncio.sleep(200), create=False)
            assert world.view().workflow.status == "completed", (flow, clean)


def test_putting_away_fifty_workflows_leaves_no_warning_and_no_change() -> None:
    async def flow(ctx: Any) -> None:
        try:
            await ctx.sleep("nap", 1e6)
        finally:
            await asyncio.sleep(0)
            await ctx.step("never", to_the_end)

    store = MemoryStore()

    async def script(host: Host) -> list[Any]:
        rows = [(await host.get_or_create("default", "a", (str(i),)))[0] for i in range(50)]
        await asyncio.sleep(1)
        return rows

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = with_host(actor(run=workflow(flow)), script, store)
        gc.collect()
    assert [str(w.message) for w in caught] == []

    async def look() -> None:
        for row in rows:
            keys = [key for key, _ in await store.load(row.id) if key.startswith(b"j")]
            assert keys == [b"jnap"]

    run(look())


# -- trouble ---------------------------------------------------------------------------------------------


def test_a_refused_commit_starts_the_actor_over_and_nothing_is_lost() -> None:
    ran: list[str] = []

    async def note(step: Any, name: str) -> None:
        ran.append(name)
        step.state["n"] += 1

    async def flow(ctx: Any) -> None:
        for i in range(3):
            await ctx.step(f"s{i}", note, f"s{i}")

    for number in range(2, 6):
        ran.clear()
        world = world_of(flow)
        world.live(to_the_end, refuse=[number])
        view = world.view()
        assert view.workflow is not None and view.workflow.status == "completed", number
        assert view.state == {"n": 3} and sorted(set(ran)) == ["s0", "s1", "s2"]
        assert len(world.said("actor_failed")) == 1


def test_a_refused_send_is_an_error_to_the_sender() -> None:
    world = World(define(nap))

    async def script(host: Host, actor_id: str) -> None:
        await asyncio.sleep(1)
        store = host._store.store
        assert isinstance(store, FaultyStore)
        store.refuse = {store.commits + 1}
        with pytest.raises(RivetError, match="disk is full"):
            await host.send(actor_id, "work", QueueSend(1))
        await host.send(actor_id, "work", QueueSend(2))

    world.live(script)
    assert len(world.view().queue) == 1


def test_an_actor_whose_definition_is_gone_does_not_stop_the_others() -> None:
    store = MemoryStore()
    events: list[Any] = []

    async def life() -> None:
        lost = ActorRow("lost", "default", "gone", ("k",), 0, awake=True)
        await store.commit(Batch("lost", row=lost))
        host = Host(setup(use={"a": define(nap)}), store, JumpClock(), on_event=events.append)
        await host.start()
        row, _ = await host.get_or_create("default", "a", ())
        await asyncio.sleep(20)
        assert host.is_awake(row.id)
        await host.stop()

    run(life())
    assert events and any("No actor 'gone'" in event.text for event in events)


def test_a_stopping_engine_refuses_with_a_code_that_clients_retry() -> None:
    async def life() -> None:
        host = Host(setup(use={"a": define(nap)}), MemoryStore(), JumpClock())
        await host.start()
        row, _ = await host.get_or_create("default", "a", ())
        await host.stop()
        with pytest.raises(RivetError) as caught:
            await host.call(row.id, "get", [])
        assert (caught.value.group, caught.value.code) == ("actor", "restarting")

    run(life())


def test_a_sender_that_waits_is_told_when_the_engine_stops() -> None:
    world = World(define(nap))

    async def script(host: Host, actor_id: str) -> str:
        waiting = asyncio.ensure_future(host.send(actor_id, "work", QueueSend(1, wait=True)))
        await asyncio.sleep(1)
        await host.stop()
        with pytest.raises(RivetError) as caught:
            await waiting
        return caught.value.code

    assert world.live(script) == "restarting"
    assert len(world.view().queue) == 1


def test_definitions_without_state_say_so() -> None:
    async def script(host: Host) -> None:
        row, _ = await host.get_or_create("default", "a", ())
        with pytest.raises(RivetError, match="has no state"):
            await host.call(row.id, "get", [])

    with_host(actor(queues={"q": queue()}, actions={"get": lambda c: c.state}), script)
