"""Actors reaching actors: clients in actions and steps, sends that happen once, calls to oneself (spec actors 6)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rivetpy import UserError, actor, queue, setup
from rivetpy.host import Host
from rivetpy.store.faulty import Died
from rivetpy.store.memory import MemoryStore
from rivetpy.workflow import workflow
from tests.support.hosting import make, refused, with_host
from tests.support.jump import JumpClock, run
from tests.support.world import MortalStore, until


def add(c: Any, by: int = 1) -> int:
    c.state["n"] += by
    return int(c.state["n"])


def refuse(c: Any) -> None:
    raise UserError("no", code="no", metadata={"x": 1})


def crash(c: Any) -> None:
    raise ValueError("the password is hunter2")


#: The other one.
COUNTER = actor(
    create_state=lambda c, given: {"n": given or 0},
    queues={"jobs": queue(), "asks": queue()},
    actions={
        "add": add,
        "refuse": refuse,
        "crash": crash,
        "echo": lambda c, value: value,
        "params": lambda c: c.conn.params,
    },
)


def with_both(definition: Any, script: Any, store: Any = None, **options: Any) -> Any:
    async def life() -> Any:
        host = Host(
            setup(use={"a": definition, "counter": COUNTER}), store or MemoryStore(), JumpClock(), **options
        )
        await host.start()
        try:
            return await script(host)
        finally:
            await host.stop()

    return run(life())


async def bodies(host: Host, queue: str = "jobs") -> list[Any]:
    from rivetpy import codec

    row = await host.find("default", "counter", ("x",))
    assert row is not None
    return [
        codec.decode(message.body) for message in (await host.view(row.id)).queue if message.queue == queue
    ]


def test_parameters_and_what_only_a_client_outside_has() -> None:
    async def work(c: Any) -> list[Any]:
        other = c.client().counter.get_or_create("x", params={"who": "a"})
        ways = (other.fetch("/"), other.websocket("/"), other.connect().opened())
        codes = [await refused(way) for way in ways]
        return [await other.params(), await c.client().counter.get("x").params(), *codes]

    async def script(host: Host) -> Any:
        return await host.call(await make(host, "a"), "work", [])

    found = with_both(actor(actions={"work": work}), script)
    assert found == [{"who": "a"}, None, *["client.not_available"] * 3]


def test_actions_find_make_and_call_others() -> None:
    async def work(c: Any) -> list[Any]:
        client = c.client()
        made = client.counter.get_or_create(["x"], input=5)
        found = [await made.add(2), await client.counter.get("x").action("add"), await made.resolve()]
        with pytest.raises(Exception, match="not found"):
            await client.counter.get("nobody").add()
        with pytest.raises(Exception, match="already in use"):
            await client.counter.create("x")
        assert await (await client.counter.create("new", input=1)).add() == 2
        assert await client.counter.get_for_id(found[-1]).add() == 9
        return found[:-1]

    async def script(host: Host) -> None:
        assert await host.call(await make(host), "work", []) == [7, 8]

    with_both(actor(actions={"work": work}), script)


def test_values_are_cut_off_and_errors_say_what_clients_may_know(caplog: Any) -> None:
    async def work(c: Any) -> None:
        other = c.client().counter.get_or_create("x")
        value = {"list": (1, 2)}
        assert await other.echo(value) == {"list": [1, 2]} and await other.echo(value) is not value
        with pytest.raises(UserError) as caught:
            await other.refuse()
        assert caught.value.metadata == {"x": 1}
        assert await refused(other.crash()) == "rivetkit.internal_error"
        assert await refused(other.echo(object())) == "actor.value_not_encodable"

    async def script(host: Host) -> None:
        await host.call(await make(host), "work", [])

    with_both(actor(actions={"work": work}), script)
    assert "hunter2" in caplog.text


def test_a_step_that_runs_twice_sends_once_wherever_the_engine_dies() -> None:
    async def tell(step: Any) -> None:
        other = step.client().counter.get_or_create("x")
        await other.send("jobs", "one")
        await other.send("jobs", "two")
        await step.client().counter.get_or_create("x").send("asks", "three")
        await step.client().actor("counter").get_or_create("x").send("jobs", "four")
        if step.attempt == 1:
            raise ValueError("again")

    async def flow(ctx: Any) -> None:
        await ctx.step("tell", tell)
        await ctx.step("tell again", tell)

    definition = actor(run=workflow(flow))
    expected = ["one", "two", "four"] * 2

    async def script(host: Host) -> None:
        await make(host)
        await asyncio.sleep(30)
        assert await bodies(host) == expected and await bodies(host, "asks") == ["three"] * 2

    def life(inner: Any, die_after: int | None) -> int:
        async def alive() -> int:
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
            store = MortalStore(inner, die_after=die_after)
            host = Host(setup(use={"a": definition, "counter": COUNTER}), store, JumpClock())
            await host.start()
            task = asyncio.ensure_future(script(host))
            await asyncio.wait([task, store.death], return_when=asyncio.FIRST_COMPLETED)
            if store.dead:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                raise Died
            task.result()
            return store.commits

        return run(alive())

    commits = life(MemoryStore(), None)
    assert commits >= 10
    for n in range(1, commits):
        inner = MemoryStore()
        with pytest.raises(Died):
            life(inner, n)
        life(inner, None)


def test_an_own_key_is_kept() -> None:
    async def tell(step: Any) -> None:
        other = step.client().counter.get_or_create("x")
        await other.send("jobs", step.attempt, idempotency_key=f"attempt {step.attempt}")
        if step.attempt == 1:
            raise ValueError("again")

    async def flow(ctx: Any) -> None:
        await ctx.step("tell", tell)

    async def script(host: Host) -> None:
        await make(host)
        await asyncio.sleep(30)
        assert await bodies(host) == [1, 2]

    with_both(actor(run=workflow(flow)), script)


def test_actions_send_without_keys_and_as_often_as_they_say() -> None:
    async def work(c: Any) -> str:
        other = c.client().counter.get_or_create("x")
        await other.send("jobs", 1)
        return str((await other.send("jobs", 1, wait=True, timeout=1)).status)

    async def script(host: Host) -> None:
        assert await host.call(await make(host), "work", []) == "timedOut"
        assert await bodies(host) == [1, 1]

    with_both(actor(actions={"work": work}), script)


# -- oneself ---------------------------------------------------------------------------------------------


def test_an_action_may_call_its_own_actor() -> None:
    async def twice(c: Any) -> int:
        c.state["n"] += 10
        own = c.client().a.get(c.key)
        return int(await own.add()) + int(await own.add())

    async def script(host: Host) -> None:
        actor_id = await make(host)
        assert await host.call(actor_id, "twice", []) == 23
        assert (await host.view(actor_id)).state == {"n": 12}

    with_both(actor(state={"n": 0}, actions={"add": add, "twice": twice}), script)


def test_a_step_may_call_its_own_actor_and_the_change_is_the_steps() -> None:
    async def half(step: Any) -> int:
        step.state["n"] += 10
        result = int(await step.client().a.get(step.key).add())
        await asyncio.sleep(5)
        return result

    async def flow(ctx: Any) -> Any:
        return await ctx.step("half", half)

    store = MemoryStore()
    definition = actor(state={"n": 0}, run=workflow(flow), actions={"add": add})

    async def half_way(host: Host) -> Any:
        actor_id = await make(host)
        await asyncio.sleep(2)
        from rivetpy import codec
        from rivetpy.workflow import layout

        return codec.decode(dict(await store.load(actor_id))[layout.STATE])

    async def to_the_end(host: Host) -> Any:
        actor_id = await make(host)
        await asyncio.sleep(10)
        view = await host.view(actor_id)
        assert view.workflow is not None
        return [view.workflow.output, view.state]

    assert with_host(definition, half_way, store, clean=False) == {"n": 0}
    assert with_both(definition, to_the_end, store) == [11, {"n": 11}]


def test_an_action_that_a_step_called_may_save_the_state_it_shares_with_it() -> None:
    async def save(c: Any) -> None:
        add(c)
        await c.save_state()

    async def both(step: Any) -> None:
        step.state["n"] += 1
        await step.client().a.get(["k"]).save()

    async def flow(ctx: Any) -> None:
        await ctx.step("both", both, max_retries=0)

    async def script(host: Host) -> Any:
        view = await until(host, await make(host))
        return view.workflow.status, view.state  # type: ignore[union-attr]

    definition = actor(state={"n": 0}, run=workflow(flow), actions={"save": save})
    assert with_host(definition, script) == ("completed", {"n": 2})


def test_waiting_for_ones_own_answer_is_refused_at_once() -> None:
    codes: list[str] = []

    async def ask(step: Any) -> None:
        own = step.client().a.get(step.key)
        codes.append(await refused(own.send("jobs", 1, wait=True)))
        await own.send("jobs", 2)

    async def flow(ctx: Any) -> None:
        await ctx.step("ask", ask)

    async def run_(c: Any) -> None:
        await ask(Stand(c))

    class Stand:
        def __init__(self, c: Any) -> None:
            self.client, self.key = c.client, c.key

    async def script(host: Host) -> float:
        await make(host)
        await asyncio.sleep(1)
        return asyncio.get_running_loop().time()

    for handler in (workflow(flow), run_):
        assert with_both(actor(queues={"jobs": queue()}, run=handler), script) < 3
    assert codes == ["queue.waits_for_itself"] * 2


@pytest.mark.parametrize("hook", ["on_create", "on_wake", "on_sleep"])
def test_an_actor_that_wakes_or_leaves_is_not_made_to_wait_for_itself(hook: str) -> None:
    codes: list[str] = []

    async def call(c: Any) -> None:
        codes.append(await refused(c.client().a.get_for_id(c.actor_id).add()))
        codes.append(await refused(c.client().a.get_or_create(c.key).add()))

    async def script(host: Host) -> float:
        await host.sleep(await make(host))
        return asyncio.get_running_loop().time()

    hooks: Any = {hook: call}
    assert with_both(actor(state={"n": 0}, actions={"add": add}, **hooks), script) < 3
    assert set(codes) == {"actor.calls_itself"} and len(codes) >= 2
