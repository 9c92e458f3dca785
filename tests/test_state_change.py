"""on_state_change over a disk that takes its time: what it changes itself, and whose change that is."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from rivetpy import codec
from rivetpy.host import Host
from rivetpy.workflow import layout
from tests.support.disk import Disk, count, on_a_disk
from tests.support.world import until


async def stored(disk: Disk, actor_id: str) -> Any:
    return codec.decode(dict(await disk.load(actor_id))[layout.STATE])


def add(c: Any) -> None:
    c.state["n"] += 1


def changed(c: Any, state: Any) -> None:
    state["changes"] = state.get("changes", 0) + 1


def test_what_it_changed_is_durable_before_any_of_the_answers() -> None:
    async def script(host: Host, actor_id: str, disk: Disk) -> None:
        async def call() -> None:
            await host.call(actor_id, "add", [])
            assert await stored(disk, actor_id) == {"n": 3, "changes": 3}

        await asyncio.gather(call(), call(), call())

    on_a_disk(None, script, on_state_change=changed, actions={"add": add})


@pytest.mark.parametrize(
    ("hook", "answered"),
    [(lambda c, state: None, {"n": 1}), (changed, {"n": 21, "changes": 1})],
    ids=["looks", "changes"],
)
def test_it_never_takes_along_what_a_running_step_changed(hook: Any, answered: Any) -> None:
    """Where it changed something too, the answer waits for the step, as with an action's own change."""

    async def halves(step: Any) -> None:
        assert step.state["n"] == 0
        await asyncio.sleep(0.5)
        step.state["n"] += 10
        await asyncio.sleep(9)
        step.state["n"] += 10

    async def flow(ctx: Any) -> None:
        await ctx.step("halves", halves)

    async def script(host: Host, actor_id: str, disk: Disk) -> None:
        await host.call(actor_id, "add", [])  # durable a second later: between the halves
        assert await stored(disk, actor_id) == answered

    on_a_disk(flow, script, on_state_change=hook, actions={"add": add})


@pytest.mark.parametrize("body", [add, count], ids=["def", "async"])
def test_what_it_changed_after_a_step_is_durable_by_itself(body: Any) -> None:
    async def flow(ctx: Any) -> None:
        await ctx.step("add", body)

    async def script(host: Host, actor_id: str, disk: Disk) -> None:
        await until(host, actor_id)
        await asyncio.sleep(2)
        assert await stored(disk, actor_id) == {"n": 1, "changes": 1}

    on_a_disk(flow, script, on_state_change=changed)


def test_one_that_exits_ends_nothing() -> None:
    told: list[str] = []

    async def script(host: Host, actor_id: str, disk: Disk) -> None:
        await host.call(actor_id, "add", [])

    on_a_disk(
        None,
        script,
        on_event=lambda event: told.append(event.text),
        on_state_change=lambda c, state: sys.exit(3),
        actions={"add": add},
    )
    assert told == ["on_state_change failed: RuntimeError: on_state_change called sys.exit(3)"]


def test_an_actions_change_that_another_one_brought_along_is_durable_before_its_answer() -> None:
    async def slow(c: Any) -> None:
        c.state["slow"] = True
        await asyncio.sleep(0.5)

    async def script(host: Host, actor_id: str, disk: Disk) -> None:
        other = asyncio.ensure_future(host.call(actor_id, "slow", []))
        await asyncio.sleep(0.25)
        add_one = asyncio.ensure_future(host.call(actor_id, "add", []))
        await other
        assert await stored(disk, actor_id) == {"n": 1, "slow": True}
        await add_one

    on_a_disk(None, script, actions={"add": add, "slow": slow})
