"""kv: keys, limits, and writes that are one with the step (spec actors 2, workflows 2)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rivetpy import actor
from rivetpy.host import Host
from rivetpy.store.memory import MemoryStore
from rivetpy.workflow import workflow
from tests.support.hosting import make, refused, with_host
from tests.support.world import World


async def put(c: Any, key: Any, value: Any) -> None:
    await c.kv.put(key, value)


async def everything(c: Any, prefix: Any = "") -> Any:
    return await c.kv.list(prefix)


ACTIONS: dict[str, Any] = {
    "put": put,
    "all": everything,
    "get": lambda c, key: c.kv.get(key, "nothing"),
    "delete": lambda c, key: c.kv.delete(key),
}


def test_values_outlive_the_engine_and_are_listed_in_order() -> None:
    store = MemoryStore()

    async def fill(host: Host) -> None:
        actor_id = await make(host)
        for key in ("user/2", "user/10", "admin/1", "user/1"):
            await host.call(actor_id, "put", [key, {"name": key, "raw": b"\x00"}])
        assert await host.call(actor_id, "delete", ["user/2"]) is True
        assert await host.call(actor_id, "delete", ["user/2"]) is False

    with_host(actor(actions=ACTIONS), fill, store, clean=False)

    async def read(host: Host) -> None:
        actor_id = await make(host)
        assert list(await host.call(actor_id, "all", ["user/"])) == ["user/1", "user/10"]
        assert list(await host.call(actor_id, "all", [])) == ["admin/1", "user/1", "user/10"]
        assert await host.call(actor_id, "get", ["user/1"]) == {"name": "user/1", "raw": b"\x00"}
        assert await host.call(actor_id, "get", ["user/2"]) == "nothing"

    with_host(actor(actions=ACTIONS), read, store)


def test_text_and_bytes_are_different_keys() -> None:
    async def both(c: Any) -> Any:
        await c.kv.batch(put={"a": 1})
        await c.kv.batch(put={b"a": 2, b"\xff": 3})
        assert await c.kv.list(b"", limit=1) == {b"a": 2}
        return [await c.kv.list(""), len(await c.kv.list(b"")), await c.kv.get("a"), await c.kv.get(b"a")]

    async def script(host: Host) -> None:
        assert await host.call(await make(host), "both", []) == [{"a": 1}, 2, 1, 2]

    with_host(actor(actions={"both": both}), script)


def test_a_batch_is_all_or_nothing() -> None:
    async def batch(c: Any, value: Any) -> None:
        await c.kv.batch(put={"a": 1, "b": value}, delete=["c"])

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.call(actor_id, "put", ["c", 0])
        assert await refused(host.call(actor_id, "batch", ["x" * 200_000])) == "kv.value_too_large"
        assert await host.call(actor_id, "all", []) == {"c": 0}
        await host.call(actor_id, "batch", [2])
        assert await host.call(actor_id, "all", []) == {"a": 1, "b": 2}

    with_host(actor(actions=ACTIONS | {"batch": batch}), script)


def test_limits() -> None:
    async def script(host: Host) -> None:
        actor_id = await make(host)
        await host.call(actor_id, "put", ["é" * 1024, b"x" * 131072])
        await host.call(actor_id, "put", [b"x" * 2048, "x" * 131072])
        assert await refused(host.call(actor_id, "put", ["é" * 1024 + "x", 1])) == "kv.key_too_large"
        assert await refused(host.call(actor_id, "put", ["k", b"x" * 131080])) == "kv.value_too_large"
        assert await refused(host.call(actor_id, "put", ["k", object()])) == "actor.value_not_encodable"
        with pytest.raises(TypeError, match="str or bytes"):
            await host.call(actor_id, "put", [1, 1])
        assert await host.call(actor_id, "get", ["k"]) == "nothing"

    with_host(actor(actions=ACTIONS), script)


def test_values_are_fresh_objects() -> None:
    async def change(c: Any) -> Any:
        value = {"n": 1}
        await c.kv.put("k", value)
        value["n"] = 2
        (await c.kv.get("k"))["n"] = 3
        return await c.kv.get("k")

    async def script(host: Host) -> None:
        assert await host.call(await make(host), "change", []) == {"n": 1}

    with_host(actor(actions={"change": change}), script)


# -- in a step -------------------------------------------------------------------------------------------


async def count(step: Any) -> None:
    step.state["n"] += 1
    await step.kv.put(f"n/{await step.kv.get('n', 0)}", True)
    await step.kv.put("n", await step.kv.get("n", 0) + 1)
    assert len(await step.kv.list("n/")) == await step.kv.get("n")


async def three(ctx: Any) -> None:
    for name in "abc":
        await ctx.step(name, count)


def test_what_a_step_writes_is_one_with_its_record_wherever_the_engine_dies() -> None:
    clean = World(actor(state={"n": 0}, run=workflow(three), actions=ACTIONS))
    clean.live(ending)
    for n in range(1, clean.commits + 1):
        world = World(actor(state={"n": 0}, run=workflow(three), actions=ACTIONS))
        try:
            world.live(ending, die_after=n)
        except BaseException as error:
            assert type(error).__name__ == "Died", error
        assert world.live(ending) == [3, 3, ["n", "n/0", "n/1", "n/2"]], n


async def ending(host: Host, actor_id: str) -> Any:
    await asyncio.sleep(60)
    view = await host.view(actor_id)
    assert view.workflow is not None and view.workflow.status == "completed"
    kept = await host.call(actor_id, "all", [])
    return [view.state["n"], kept["n"], list(kept)]


def test_what_a_failed_attempt_wrote_is_forgotten_and_others_see_nothing_before() -> None:
    async def slow(step: Any) -> Any:
        await step.kv.put("attempt", step.attempt)
        await step.kv.delete("old")
        if step.attempt == 1:
            await step.kv.put("first", True)
            raise ValueError("again")
        await asyncio.sleep(10)
        return await step.kv.list("")

    async def flow(ctx: Any) -> Any:
        return await ctx.step("slow", slow)

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await asyncio.sleep(5)
        assert await host.call(actor_id, "all", []) == {"old": 1}
        await asyncio.sleep(10)
        assert await host.call(actor_id, "all", []) == {"attempt": 2}
        view = (await host.view(actor_id)).workflow
        assert view is not None and view.output == {"attempt": 2}

    async def on_create(c: Any) -> None:
        await c.kv.put("old", 1)

    with_host(actor(run=workflow(flow), actions=ACTIONS, on_create=on_create), script)
