"""The inspector's routes that change how a workflow goes on, over ASGI: what they do, answer and refuse."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from rivetpy import Registry, actor, queue, setup
from rivetpy.workflow import workflow
from tests.support.asgi import Client, error_of, serving
from tests.support.jump import run

ran: list[str] = []
broken = True


async def note(step: Any, name: str) -> str:
    ran.append(name)
    return name


async def fragile(step: Any) -> None:
    ran.append("fragile")
    if broken:
        raise ValueError("not yet")


async def long(step: Any) -> None:
    await asyncio.sleep(1e6)


async def flow(ctx: Any) -> str:
    await ctx.step("one", note, "one")
    message = await ctx.queue.next("wait")
    if message.body == "long":
        await ctx.step("long", long, timeout=0)
    if message.body == "fail":
        await ctx.step("fragile", fragile, max_retries=0)
    await ctx.step("two", note, "two")
    if message.body == "nap":
        await ctx.sleep("nap", 1e6)
    return "done"


def flows() -> Registry:
    ran.clear()
    made = actor(queues={"jobs": queue()}, run=workflow(flow), actions={"ping": lambda c: "pong"})
    return setup(use={"counter": made, "plain": actor(actions={"ping": lambda c: "pong"})})


async def sent(client: Client, body: str) -> None:
    (await client.send("jobs", body=body)).raise_for_status()
    await asyncio.sleep(1)


async def control(client: Client, verb: str, actor: str = "counter", **given: Any) -> httpx.Response:
    return await client.inspect("POST", f"workflow/{verb}", given, actor=actor)


async def history(client: Client) -> dict[str, Any]:
    seen: dict[str, Any] = (await client.inspect("GET", "workflow-history")).json()
    return seen


def names(history: dict[str, Any]) -> list[str]:
    """The names of the entries; there is one level only."""
    known = history["history"]["nameRegistry"]
    return [known[entry["location"][-1]["val"]] for entry in history["history"]["entries"]]


def id_of(history: dict[str, Any], name: str) -> str:
    return str(history["history"]["entries"][names(history).index(name)]["id"])


def test_replay_runs_again_from_an_entry_and_answers_with_the_history() -> None:
    async def main() -> None:
        async with serving(flows()) as client:
            await sent(client, "end")
            before = await history(client)
            assert before["workflowState"] == "completed" and ran == ["one", "two"]
            answer = await control(client, "replay", entryId=id_of(before, "two"))
            assert answer.status_code == 200
            assert answer.json().keys() == before.keys()
            assert answer.json()["isWorkflowEnabled"] is True
            assert names(answer.json())[:2] == ["one", "wait"]
            await asyncio.sleep(1)
            after = await history(client)
            assert ran == ["one", "two", "two"]
            assert (names(after), after["workflowState"]) == (names(before), "completed")
            assert id_of(after, "two") == id_of(before, "two")

    run(main())


def test_replay_without_an_entry_starts_over_and_gives_the_message_back() -> None:
    async def main() -> None:
        async with serving(flows()) as client:
            await sent(client, "end")
            (await control(client, "replay")).raise_for_status()
            await asyncio.sleep(1)
            assert ran == ["one", "two"] * 2
            assert (await history(client))["workflowState"] == "completed"

    run(main())


def test_replay_of_a_waiting_workflow_is_allowed_and_of_a_running_step_refused() -> None:
    async def main() -> None:
        async with serving(flows()) as client:
            await sent(client, "nap")
            waiting = await history(client)
            assert (await control(client, "replay", entryId=id_of(waiting, "two"))).status_code == 200
            await asyncio.sleep(1)
            assert ran == ["one", "two", "two"]
        async with serving(flows()) as client:
            await sent(client, "long")
            before = await history(client)
            for given in ({}, {"entryId": id_of(before, "one")}):
                assert error_of(await control(client, "replay", **given)) == (409, "actor.workflow_in_flight")
            refused = await control(client, "rewind", location="one")
            assert error_of(refused) == (409, "workflow.in_flight")
            assert "A step of 'counter' is running" in refused.json()["message"]
            assert await history(client) == before

    run(main())


def test_an_unknown_entry_changes_nothing() -> None:
    async def main() -> None:
        async with serving(flows()) as client:
            await sent(client, "end")
            before = await history(client)
            unknown = await control(client, "replay", entryId="nope")
            assert error_of(unknown) == (500, "actor.internal_error")
            assert unknown.json()["message"] == "Workflow step not found: nope"
            misspelt = await control(client, "rewind", location="tow")
            assert error_of(misspelt) == (404, "workflow.entry_not_found")
            assert "Did you mean 'two'?" in misspelt.json()["message"]
            for given in ({"entryId": 3}, {"location": ["two"], "dryRun": True}, {"dryRun": "yes"}):
                verb = "replay" if "entryId" in given else "rewind"
                assert error_of(await control(client, verb, **given)) == (400, "actor.invalid_request")
            assert error_of(await control(client, "explode")) == (404, "actor.not_found")
            assert await history(client) == before and ran == ["one", "two"]

    run(main())


def test_rewind_shows_first_and_can_be_undone() -> None:
    async def main() -> None:
        async with serving(flows()) as client:
            await sent(client, "end")
            before = await history(client)
            plan = {"removed": ["wait", "two"], "runsAgain": ["two"], "returnedMessages": 1}
            assert (await control(client, "rewind", location="wait", dryRun=True)).json() == plan
            assert await history(client) == before
            assert (await control(client, "rewind", location="wait")).json() == plan
            await asyncio.sleep(1)
            assert ran == ["one", "two", "two"]
            assert (await control(client, "undo")).json() == {"workflowState": "completed"}
            assert await history(client) == before
            assert error_of(await control(client, "undo")) == (409, "workflow.nothing_to_undo")

    run(main())


def test_recover_runs_what_failed_again() -> None:
    async def main() -> None:
        global broken  # noqa: PLW0603
        async with serving(flows()) as client:
            broken = True
            await sent(client, "fail")
            assert (await history(client))["workflowState"] == "failed"
            assert ran == ["one", "fragile"]
            broken = False
            assert (await control(client, "recover")).json()["workflowState"] in {"running", "completed"}
            await asyncio.sleep(1)
            assert ran == ["one", "fragile", "fragile", "two"]
            assert (await history(client))["workflow"]["output"] == "done"
            refused = await control(client, "recover")
            assert error_of(refused) == (409, "workflow.not_failed")
            assert "completed, not failed" in refused.json()["message"]

    run(main())


def test_cancel_ends_for_good() -> None:
    async def main() -> None:
        async with serving(flows()) as client:
            await sent(client, "long")
            assert (await control(client, "cancel")).json() == {"workflowState": "cancelled"}
            await asyncio.sleep(1)
            seen = await history(client)
            assert (seen["workflowState"], seen["workflow"]["waits"]) == ("cancelled", [])
            assert error_of(await control(client, "cancel")) == (409, "workflow.ended")

    run(main())


def test_an_actor_without_a_workflow_has_nothing_to_control() -> None:
    async def main() -> None:
        async with serving(flows()) as client:
            await client.act("ping", actor="plain")
            for verb in ("rewind", "recover", "cancel", "replay"):
                refused = error_of(await control(client, verb, actor="plain"))
                assert refused == (400, "workflow.not_enabled")

    run(main())


def test_wake_and_sleep() -> None:
    async def main() -> None:
        async with serving(flows()) as client:
            await client.act("ping")
            row = await client.host.find("default", "counter", ("main",))
            assert row is not None
            for verb, awake in (("sleep", False), ("wake", True), ("wake", True)):
                answer = await client.post(f"/actors/{row.id}/{verb}?namespace=default", {})
                assert (answer.status_code, answer.json()) == (200, {})
                assert client.host.is_awake(row.id) is awake
            missing = await client.post("/actors/nope/wake?namespace=default", {})
            assert error_of(missing) == (400, "actor.not_found")

    run(main())
