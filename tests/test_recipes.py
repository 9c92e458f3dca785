"""Each recipe end to end, sent what its first lines say; nothing sleeps, and a crash changes nothing."""

from __future__ import annotations

import asyncio
import datetime as dt
import importlib.util
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rivetpy.actors import ActorDefinition
from rivetpy.cli.body import parse_body
from rivetpy.client import create_client
from rivetpy.host import Host
from rivetpy.store import Listing
from rivetpy.store.faulty import Died
from rivetpy.wire.bodies import QueueSend
from rivetpy.workflow import workflow
from tests.support.engine import EXAMPLES
from tests.support.jump import EPOCH
from tests.support.live import live
from tests.support.world import World, plain, until

RECIPES = EXAMPLES / "recipes"
FILES = sorted(RECIPES.glob("*.py"))
DAY = 86400


def recipe(name: str) -> ModuleType:
    """A recipe's module, freshly run."""
    spec = importlib.util.spec_from_file_location(f"recipe_{name}", RECIPES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def actor_of(module: ModuleType) -> ActorDefinition:
    """The one actor of a recipe."""
    (definition,) = module.registry.actors.values()
    assert isinstance(definition, ActorDefinition)
    return definition


def no_file(name: str) -> bytes:
    raise AssertionError(f"a recipe needs no file {name!r}")


def said_sends(module: ModuleType) -> list[tuple[str, Any]]:
    """What the recipe's docstring says to send: queue and body of each `rivet send` line."""
    lines = re.findall(r"^    rivet send (.*)$", module.__doc__ or "", re.M)
    typed = [[word for word in shlex.split(line) if word != "--wait"] for line in lines]
    return [(queue, parse_body(body, no_file)) for queue, *body in typed]


async def send_all(host: Host, actor: str, sends: list[tuple[str, Any]]) -> None:
    for queue, body in sends:
        await host.send(actor, queue, QueueSend(body))


def ended(module: ModuleType, sends: list[tuple[str, Any]]) -> World:
    """The recipe's actor after it was sent this and its workflow ended."""
    world = World(actor_of(module))

    async def script(host: Host, actor: str) -> None:
        await send_all(host, actor, sends)
        await until(host, actor)

    world.live(script)
    return world


def output(world: World) -> Any:
    """What the workflow returned; fails when it failed."""
    workflow = world.view().workflow
    assert workflow is not None and workflow.status == "completed", workflow
    return workflow.output


def state(world: World) -> Any:
    return world.view().state


# -- the files -------------------------------------------------------------------------------------------


def test_the_list_names_every_recipe() -> None:
    listed = re.findall(r"^\| \[(\w+\.py)\]\((\w+\.py)\) \|", (RECIPES / "README.md").read_text(), re.M)
    assert sorted(listed) == [(path.name, path.name) for path in FILES] and len(FILES) >= 9


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_says_first_when_to_use_it_and_what_to_type(path: Path) -> None:
    module = recipe(path.stem)
    assert (module.__doc__ or "").startswith("When "), "the first line says when to use it"
    assert len(path.read_text().splitlines()) <= 90, "a recipe is small"
    actors = module.registry.actors.values()
    assert 1 <= len(actors) <= 2
    declared = {name for definition in actors for name in definition.queues}
    sends = said_sends(module)
    assert {queue for queue, _ in sends} <= declared
    assert sends or "rivet call getState" in (module.__doc__ or "")


# -- request and response --------------------------------------------------------------------------------


def test_a_question_is_answered_and_a_bad_one_does_no_harm() -> None:
    module = recipe("request_response")
    ((queue, question),) = said_sends(module)

    async def script(host: Host, actor: str) -> list[Any]:
        bodies = [question, {"net": -1}, None, question]
        return [(await host.send(actor, queue, QueueSend(body, wait=True))).response for body in bodies]

    world = World(actor_of(module))
    refused = {"error": "net is a number of cents above 0"}
    assert world.live(script) == [{"gross": 540}, refused, refused, {"gross": 540}]
    assert world.view().queue == ()


# -- approval --------------------------------------------------------------------------------------------


def test_an_answer_in_time_decides() -> None:
    world = ended(recipe("approval"), said_sends(recipe("approval")))
    assert output(world) == {"approved": True, "by": "Ada"}
    assert state(world) == {"request": {"amount": 1200}, "status": "approved", "by": "Ada"}


@pytest.mark.parametrize("always_replay", [False, True])
def test_silence_decides_after_three_days_through_restarts(always_replay: bool) -> None:
    module = recipe("approval")
    world = World(actor_of(module), always_replay=always_replay)
    world.live(lambda host, actor: send_all(host, actor, said_sends(module)[:1]))
    world.live(lambda host, actor: asyncio.sleep(DAY), clean=False)
    world.live(until)
    assert output(world) == {"approved": False, "by": "nobody"} and state(world)["status"] == "refused"
    assert 3 * DAY <= world.time < 4 * DAY


# -- fan-out ---------------------------------------------------------------------------------------------


def test_every_part_is_done_at_once_and_the_whole_once() -> None:
    module = recipe("fan_out")
    asked = []

    async def measure(step: Any, city: str) -> int:
        asked.append(city)
        await asyncio.sleep(20)
        return len(city)

    module.measure = measure
    world = ended(module, [("reports", {"cities": ["Oslo", "Lima", "Timbuktu"]})])
    assert sorted(asked) == ["Lima", "Oslo", "Timbuktu"] and 20 <= world.time < 40, "not one after the other"
    assert output(world) == {"Oslo": 4, "Lima": 4, "Timbuktu": 8} and state(world) == {"warmest": "Timbuktu"}
    assert output(ended(recipe("fan_out"), said_sends(module))) == {"Oslo": 20, "Lima": 20, "Pune": 20}


# -- saga ------------------------------------------------------------------------------------------------


def test_what_was_booked_is_undone_in_reverse() -> None:
    module = recipe("saga")
    undone: list[str] = []
    for name in ("cancel_flight", "cancel_hotel"):
        setattr(module, name, noted(getattr(module, name), undone))
    world = ended(module, [("trips", {"to": "Lima", "card": "declined"})])
    workflow = world.view().workflow
    assert workflow is not None and workflow.status == "failed" and "card declined" in str(workflow.failure)
    assert undone == ["hotel in Lima", "flight to Lima"] and state(world) == {"booked": []}

    full = ended(recipe("saga"), said_sends(module))
    assert state(full) == {"booked": []}, "the flight was booked and cancelled"
    assert [entry["status"] for entry in plain(full.journal()) if entry["kind"] == "step"] == [
        "completed",
        "failed",
    ]


def noted(handler: Any, undone: list[str]) -> Any:
    async def noting(step: Any, booking: str) -> None:
        undone.append(booking)
        await handler(step, booking)

    return noting


def test_a_trip_that_fits_stays_booked() -> None:
    world = ended(recipe("saga"), [("trips", {"to": "Pune"})])
    assert output(world) == ["flight to Pune", "hotel in Pune"]
    assert state(world) == {"booked": ["flight", "hotel", "charge"]}


# -- polling ---------------------------------------------------------------------------------------------


def test_polling_asks_less_and_less_often_until_it_is_ready() -> None:
    module = recipe("polling")
    world = ended(module, said_sends(module))
    assert output(world) == "export-2026.csv" and state(world) == {"export": "export-2026", "asked": 11}
    pauses = sum(min(2**n, module.LONGEST) for n in range(10))
    assert pauses <= world.time < pauses + 600, "1, 2, 4 … 256, 300 seconds"


# -- batches ---------------------------------------------------------------------------------------------


def test_messages_that_come_together_are_written_together() -> None:
    module = recipe("batches")
    (event,) = said_sends(module)

    async def script(host: Host, actor: str) -> None:
        await send_all(host, actor, [event] * 7)
        await asyncio.sleep(60)
        await send_all(host, actor, [event] * (module.MOST + 1))
        await asyncio.sleep(60)

    world = World(actor_of(module))
    world.live(script)
    assert state(world) == {"batches": [7, 100, 1]} and world.view().queue == ()


# -- a change under running workflows --------------------------------------------------------------------


def test_an_order_packed_before_the_change_finishes_as_it_began() -> None:
    module = recipe("versioned")
    (order,) = said_sends(module)

    async def handle_before(loop: Any) -> None:
        item = (await loop.queue.next("wait-order")).body["item"]
        await loop.step("pack", module.pack, item)
        await loop.sleep("courier", 8 * 3600)
        await loop.step("ship", module.ship, item)

    async def run_before(ctx: Any) -> None:
        await ctx.loop("orders", handle_before)

    async def one_more(host: Host, actor: str) -> None:
        await send_all(host, actor, [order])
        await asyncio.sleep(2 * DAY)

    new = actor_of(module)
    old = actor_of(recipe("versioned"))
    old.run = workflow(run_before)
    world = World(old)
    world.live(lambda host, actor: send_all(host, actor, [order, ("orders", {"item": "cup"})]))
    world.live(lambda host, actor: asyncio.sleep(3600))
    assert state(world)["done"] == ["packed teapot"], "the test is to change the code under this order"
    world.definition = new
    world.live(one_more)
    assert state(world)["done"] == [
        *("packed teapot", "shipped teapot"),
        *("packed cup", "checked cup", "shipped cup"),
        *("packed teapot", "checked teapot", "shipped teapot"),
    ]


def test_the_gate_may_go_when_no_old_order_is_left() -> None:
    module = recipe("versioned")
    (order,) = said_sends(module)

    async def handle_after(loop: Any) -> None:
        item = (await loop.queue.next("wait-order")).body["item"]
        await loop.step("pack", module.pack, item)
        await loop.removed("checked-parcels", "version")
        await loop.step("check", module.check, item)
        await loop.sleep("courier", 8 * 3600)
        await loop.step("ship", module.ship, item)

    async def run_after(ctx: Any) -> None:
        await ctx.loop("orders", handle_after)

    async def one_more(host: Host, actor: str) -> None:
        await send_all(host, actor, [order])
        await asyncio.sleep(DAY)

    world = World(actor_of(module))
    world.live(lambda host, actor: send_all(host, actor, [order]))
    world.live(lambda host, actor: asyncio.sleep(3600))
    world.definition = actor_of(recipe("versioned"))
    world.definition.run = workflow(run_after)
    world.live(one_more)
    assert state(world)["done"] == ["packed teapot", "checked teapot", "shipped teapot"] * 2


# -- parents and children --------------------------------------------------------------------------------


def test_a_parent_and_its_children_over_a_real_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    module = recipe("parent_child")
    ((queue, job),) = said_sends(module)
    send, sent = module.send, []

    async def broken_off(step: Any, *args: Any) -> None:
        """Every message leaves twice: the first attempt ends before it is recorded."""
        await send(step, *args)
        sent.append(step.idempotency_key)
        if step.attempt == 1:
            raise ConnectionError("cut off")

    module.send = broken_off
    with live(module.registry) as engine:
        monkeypatch.setenv("RIVET_ENDPOINT", engine.url)
        seen = asyncio.run(asyncio.wait_for(one_site(queue, job, engine.host, lambda: len(sent) >= 12), 60))
    assert seen == {"words": sum(map(len, job["pages"])), "left in queues": 0, "actors": 4}
    assert len(sent) == 12 and len(set(sent)) == 6, "three orders and three answers, each sent twice"


async def one_site(queue: str, job: Any, host: Host, done: Callable[[], bool]) -> dict[str, Any]:
    """Run the job; the sum, and what a message too many would have left behind.

    The sum is there before the last step is recorded, so ``done`` says when all have ended.
    """
    async with create_client() as client:
        site = client.site.get_or_create(["main"])
        await site.send(queue, job)
        while (words := (await site.getState())["words"]) is None or not done():
            await asyncio.sleep(0.02)
    rows, _ = await host.list(Listing("default"))
    views = [await host.view(row.id) for row in rows]
    return {
        "words": words,
        "left in queues": sum(len(view.queue) for view in views),
        "actors": len(rows),
    }


# -- every day -------------------------------------------------------------------------------------------


def test_there_is_one_report_a_day_and_missed_ones_are_made_up_for_once() -> None:
    world = World(actor_of(recipe("daily")))
    world.live(lambda host, actor: asyncio.sleep(10 * DAY + 1))
    assert state(world) == {"reports": 10}
    world.time += 5 * DAY
    world.live(lambda host, actor: asyncio.sleep(60), create=False)
    assert state(world) == {"reports": 11}
    world.live(lambda host, actor: asyncio.sleep(DAY), create=False)
    assert state(world) == {"reports": 12}


def test_the_next_morning_is_today_before_half_past_six() -> None:
    module = recipe("daily")
    midnight = dt.datetime.fromtimestamp(EPOCH / 1000, dt.UTC)
    due = midnight + dt.timedelta(hours=6, minutes=30)
    assert module.next_morning(midnight) == due
    assert module.next_morning(due) == due + dt.timedelta(days=1)


# -- crashes ---------------------------------------------------------------------------------------------

CRASHED = ["request_response", "approval", "fan_out", "saga", "polling", "batches", "versioned"]


@pytest.mark.parametrize("name", CRASHED)
def test_dying_at_any_commit_changes_no_result(name: str) -> None:
    module = recipe(name)
    sends = said_sends(module)

    async def life(host: Host, actor: str) -> None:
        for number, (queue, body) in enumerate(sends):
            await host.send(actor, queue, QueueSend(body, idempotency_key=f"{number}"))
        await asyncio.sleep(10 * DAY)

    whole = World(actor_of(module))
    whole.live(life)
    for commit in range(1, whole.commits + 1):
        world = World(actor_of(module))
        with pytest.raises(Died):
            world.live(life, die_after=commit)
        world.live(life)
        assert state(world) == state(whole), f"died after commit {commit}"
        assert plain(world.journal(), crashed=True) == plain(whole.journal(), crashed=True), (
            f"commit {commit}"
        )
