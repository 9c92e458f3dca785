"""The inspector: the pure projection of a journal, and its routes over ASGI."""

from __future__ import annotations

from rivetpy import codec
from rivetpy.engine.inspector.shapes import connection_json, history_json, summary_json
from rivetpy.host.view import ActorView, ConnectionView, WaitView, WorkflowView
from rivetpy.wire.messages import Init
from rivetpy.workflow.entries import (
    BlockEntry,
    Branch,
    CheckpointEntry,
    Entry,
    IterationEntry,
    JoinEntry,
    LoopEntry,
    Message,
    MessageEntry,
    RaceEntry,
    SleepEntry,
    Status,
    StepEntry,
    VersionEntry,
)
from rivetpy.workflow.failure import Failure
from tests.support.actors import registry
from tests.support.asgi import GOT, error_of, serving
from tests.support.jump import EPOCH, run
from tests.support.rows import row
from tests.support.sockets import connecting

BOOM = Failure(
    "ValueError", "builtins", "boom", metadata={"b": b"\x01"}, causes=(Failure("KeyError", "builtins", "k"),)
)


def view(*entries: Entry, waits: tuple[WaitView, ...] = (), failure: Failure | None = None) -> ActorView:
    workflow = WorkflowView("sleeping", waits, None, failure, entries)
    return ActorView(row("a1", alarm=900), awake=False, state=None, queue=(), workflow=workflow)


def test_locations_are_indexes_into_the_names() -> None:
    history = history_json(
        view(
            LoopEntry("main", 0, Status.RUNNING, 1, iteration=4, state=codec.encode({"n": 1})),
            StepEntry("main/~3/a%2Fb", 1, Status.COMPLETED, 2, 3, attempts=1, output=codec.encode(b"\x00")),
            StepEntry("main/~4/a%2Fb", 2, Status.PENDING, 4),
        )
    )["history"]
    assert history["nameRegistry"] == ["main", "a/b"]
    assert [entry["location"] for entry in history["entries"]] == [
        [{"tag": "WorkflowNameIndex", "val": 0}],
        [
            {"tag": "WorkflowNameIndex", "val": 0},
            {"tag": "WorkflowLoopIterationMarker", "val": {"loop": 0, "iteration": 3}},
            {"tag": "WorkflowNameIndex", "val": 1},
        ],
        [
            {"tag": "WorkflowNameIndex", "val": 0},
            {"tag": "WorkflowLoopIterationMarker", "val": {"loop": 0, "iteration": 4}},
            {"tag": "WorkflowNameIndex", "val": 1},
        ],
    ]
    kinds = [entry["kind"] for entry in history["entries"]]
    assert kinds[0] == {
        "tag": "WorkflowLoopEntry",
        "val": {"state": {"n": 1}, "iteration": 4, "output": None},
    }
    assert kinds[1] == {"tag": "WorkflowStepEntry", "val": {"output": ["$Uint8Array", "AA=="], "error": None}}
    ids = [entry["id"] for entry in history["entries"]]
    assert list(history["entryMetadata"]) == ids
    assert len(set(ids)) == 3


def test_ids_of_entries_stay_the_same() -> None:
    step = StepEntry("a", 0, Status.PENDING, 1)
    later = StepEntry("a", 0, Status.COMPLETED, 1, 2, output=codec.encode(1))
    first, second = (history_json(view(entry))["history"]["entries"][0]["id"] for entry in (step, later))
    assert first == second


def test_metadata_of_a_step_that_failed() -> None:
    step = StepEntry(
        "s", 7, Status.EXHAUSTED, 10, 40, attempts=4, started_at=30, failure=BOOM, reason="exhausted"
    )
    history = history_json(view(step))["history"]
    (metadata,) = history["entryMetadata"].values()
    assert metadata == {
        "status": "EXHAUSTED",
        "error": "ValueError: boom",
        "attempts": 4,
        "lastAttemptAt": 30,
        "createdAt": 10,
        "completedAt": 40,
        "rollbackCompletedAt": None,
        "rollbackError": None,
        "seq": 7,
        "failure": {
            "type": "ValueError",
            "module": "builtins",
            "message": "boom",
            "group": None,
            "code": None,
            "metadata": {"b": ["$Uint8Array", "AQ=="]},
            "traceback": "",
            "location": None,
            "causes": [
                {
                    "type": "KeyError",
                    "module": "builtins",
                    "message": "k",
                    "group": None,
                    "code": None,
                    "metadata": None,
                    "traceback": "",
                    "location": None,
                    "causes": [],
                }
            ],
        },
        "rollbackFailure": None,
        "retryAt": None,
        "reason": "exhausted",
    }
    assert history["entries"][0]["kind"]["val"] == {"output": None, "error": "ValueError: boom"}


def test_a_step_that_was_rolled_back() -> None:
    undone = StepEntry("a", 0, Status.COMPLETED, 1, 2, attempts=1, rolled_back_at=9)
    stuck = StepEntry("b", 1, Status.COMPLETED, 1, 2, attempts=1, rollback_failure=BOOM)
    first, second = history_json(view(undone, stuck))["history"]["entryMetadata"].values()
    assert (first["rollbackCompletedAt"], first["rollbackError"]) == (9, None)
    assert (second["rollbackCompletedAt"], second["rollbackError"]) == (None, "ValueError: boom")
    assert second["rollbackFailure"]["causes"][0]["type"] == "KeyError"


def test_branches_gates_and_checkpoints() -> None:
    two = {"b": Branch(Status.COMPLETED, codec.encode(b"\x01")), "a": Branch(Status.FAILED, failure=BOOM)}
    late = {"x": Branch(Status.CANCELLED), "y": Branch(Status.COMPLETED, codec.encode(None))}
    history = history_json(
        view(
            JoinEntry("j", 0, Status.FAILED, 1, 2, branches=two),
            RaceEntry("r", 1, Status.COMPLETED, 1, 2, branches=late, winner="y"),
            RaceEntry("open", 2, Status.RUNNING, 1, branches={"x": Branch()}),
            VersionEntry("v", 3, Status.COMPLETED, 1, 1, resolved=1, latest=3),
            CheckpointEntry("c", 4, Status.COMPLETED, 1, 1),
            BlockEntry("t", 5, Status.FAILED, 1, 2, failure=BOOM, source="step"),
            IterationEntry("l/~0", 6, Status.COMPLETED, 1, 1, state=codec.encode(1)),
        )
    )["history"]
    kinds = {entry["kind"]["tag"]: entry["kind"]["val"] for entry in history["entries"][:2]}
    joined = kinds["WorkflowJoinEntry"]["branches"]
    assert list(joined) == ["b", "a"], "in the order they were given"
    assert joined["b"] == {
        "status": "COMPLETED",
        "output": ["$Uint8Array", "AQ=="],
        "error": None,
        "failure": None,
    }
    assert (joined["a"]["status"], joined["a"]["error"]) == ("FAILED", "ValueError: boom")
    assert joined["a"]["failure"]["message"] == "boom"
    assert kinds["WorkflowRaceEntry"]["winner"] == "y"
    assert kinds["WorkflowRaceEntry"]["branches"]["x"]["status"] == "CANCELLED"
    undecided, gate, armed, block = (entry["kind"] for entry in history["entries"][2:])
    assert undecided["val"]["winner"] is None
    assert gate == {"tag": "WorkflowVersionCheckEntry", "val": {"resolved": 1, "latest": 3}}
    assert armed == {"tag": "WorkflowRollbackCheckpointEntry", "val": {"name": "c"}}
    assert block["val"] == {"output": None, "error": "ValueError: boom", "source": "step"}
    about = history["entryMetadata"][history["entries"][5]["id"]]
    assert about["failure"]["message"] == "boom"
    assert len(history["entryMetadata"]) == 6, "iterations are not shown"


def test_sleeps_and_messages() -> None:
    message = Message(3, "jobs", codec.encode({"n": 1}), 5)
    wait = MessageEntry("m", 1, Status.COMPLETED, 4, 6, queues=["jobs"], completable=True, messages=[message])
    several = MessageEntry("b", 2, Status.COMPLETED, 4, 6, messages=[message, message])
    pending = MessageEntry("p", 3, Status.PENDING, 4, queues=["jobs", "stop"], deadline=99)
    sleep = SleepEntry("z", 0, Status.INTERRUPTED, 1, 2, deadline=77)
    history = history_json(view(sleep, wait, several, pending))["history"]
    sleeping, one, two, none = (entry["kind"]["val"] for entry in history["entries"])
    assert sleeping == {"deadline": 77, "state": "INTERRUPTED"}
    shown = {
        "__rivetWorkflowQueueMessage": 1,
        "id": "3",
        "name": "jobs",
        "body": {"n": 1},
        "createdAt": 5,
        "completed": False,
    }
    assert one == {"name": "jobs", "messageData": shown, "queues": ["jobs"], "deadline": None}
    assert two["messageData"] == [{**shown, "completed": True}] * 2
    assert none == {"name": "jobs,stop", "messageData": None, "queues": ["jobs", "stop"], "deadline": 99}


def test_the_workflow_beside_its_history() -> None:
    wait = WaitView("message", "m", 1_000, ("jobs",))
    shown = history_json(view(waits=(wait,), failure=BOOM))
    assert shown["workflowState"] == "sleeping"
    assert shown["isWorkflowEnabled"] is True
    assert shown["workflow"]["waits"] == [
        {"reason": "message", "location": "m", "deadline": 1_000, "queues": ["jobs"]}
    ]
    assert shown["workflow"]["error"]["message"] == "boom"
    summary = summary_json(view(waits=(wait, WaitView("retry", "a/b"))))
    assert summary["waitingFor"] == ["message on jobs until 1970-01-01 00:00:01Z", "retry a/b"]
    assert summary["nextWakeAt"] == 900


def test_an_actor_without_a_workflow() -> None:
    plain = ActorView(row("a1"), awake=True, state=1, queue=(), workflow=None)
    nothing = {"history": None, "workflowState": None, "isWorkflowEnabled": False, "workflow": None}
    assert history_json(plain) == nothing
    assert summary_json(plain)["workflowStatus"] is None


def test_history_over_the_gateway_and_asleep() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            await client.send("jobs", body={"n": 2}, wait=True)
            awake = (await client.inspect("GET", "workflow-history")).json()
            tags = [entry["kind"]["tag"] for entry in awake["history"]["entries"]]
            assert tags[:3] == ["WorkflowLoopEntry", "WorkflowMessageEntry", "WorkflowStepEntry"]
            assert awake["history"]["entries"][1]["kind"]["val"]["messageData"]["completed"] is True
            row = await client.host.find("default", "counter", ("main",))
            assert row is not None
            await client.host.sleep(row.id)
            assert (await client.inspect("GET", "workflow-history")).json() == awake
            assert not client.host.is_awake(row.id)

    run(main())


def test_state_shown_and_changed() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            await client.act("nothing")
            shown = (await client.inspect("GET", "state")).json()
            revision = shown.pop("revision")
            assert shown == {"state": {"value": 0}, "isStateEnabled": True}
            changed = await client.inspect(
                "PATCH", "state", {"state": {"value": ["$BigInt", "9007199254740993"]}}
            )
            assert changed.json() == {"ok": True}
            assert (await client.act("getState")).json()["output"]["value"] == ["$BigInt", "9007199254740993"]
            assert error_of(await client.inspect("PATCH", "state", {})) == (400, "actor.invalid_request")
            stale = {"state": {"value": 0}, "revision": revision}
            assert error_of(await client.inspect("PATCH", "state", stale)) == (409, "actor.state_changed")

    run(main())


def test_queue_listed_filled_and_emptied() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            await client.act("nothing")
            sent = await client.inspect("POST", "queue", {"name": "idle", "body": {"n": 1}})
            assert sent.json() == {"id": "1", "name": "idle", "createdAtMs": EPOCH}
            for body in (2, 3):
                await client.send("idle", body=body)
            listed = (await client.inspect("GET", "queue?limit=2")).json()
            assert listed == {
                "size": 3,
                "maxSize": 1000,
                "truncated": True,
                "messages": [
                    {"id": 1, "name": "idle", "createdAtMs": EPOCH, "body": {"n": 1}},
                    {"id": 2, "name": "idle", "createdAtMs": EPOCH, "body": 2},
                ],
            }
            assert (await client.inspect("DELETE", "queue?id=2")).json() == {}
            left = (await client.inspect("GET", "queue")).json()
            assert [message["id"] for message in left["messages"]] == [1, 3]
            assert left["truncated"] is False
            await client.inspect("DELETE", "queue")
            assert (await client.inspect("GET", "queue")).json()["size"] == 0
            for wrong in ({"body": 1}, {"name": ""}, []):
                assert error_of(await client.inspect("POST", "queue", wrong)) == (
                    400,
                    "actor.invalid_request",
                )
            assert error_of(await client.inspect("DELETE", "queue?id=x")) == (400, "actor.invalid_request")

    run(main())


def test_summary_rpcs_and_actions() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            await client.act("ping", actor="plain")
            assert (await client.inspect("GET", "rpcs", actor="plain")).json() == {"rpcs": ["ping"]}
            assert (await client.inspect("GET", "summary", actor="plain")).json() == {
                "state": {"ready": True},
                "connections": [],
                "rpcs": ["ping"],
                "queueSize": 0,
                "isStateEnabled": True,
                "isDatabaseEnabled": False,
                "isWorkflowEnabled": False,
                "workflowState": None,
                "workflowHistory": None,
            }
            await client.act("nothing")
            done = await client.inspect("POST", "action/echo", {"args": [1, 2]})
            assert done.json() == {"output": [1, 2]}
            assert (await client.inspect("POST", "action/echo", {"properties": {}})).json() == {"output": []}
            both = await client.inspect("POST", "action/echo", {"args": [], "properties": {}})
            assert error_of(both) == (400, "actor.invalid_request")
            assert error_of(await client.inspect("POST", "action/nope", {})) == (
                404,
                "action.action_not_found",
            )
            nowhere = await client.inspect("GET", "nope")
            assert error_of(nowhere) == (404, "actor.not_found")
            assert nowhere.json()["message"] == "Inspector route was not found"

    run(main())


def test_who_is_connected() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            await client.act("nothing")
            path = f"/gateway/counter/connect?{GOT}&rvt-key=main"
            async with connecting(client.app, path, "json", '{"who":"mé"}') as talk:
                init = await talk.hear()
                assert isinstance(init, Init)
                shown = {
                    "type": None,
                    "id": init.connection_id,
                    "details": {
                        "type": None,
                        "params": {"who": "mé"},
                        "stateEnabled": True,
                        "state": None,
                        "subscriptions": 0,
                        "isHibernatable": True,
                    },
                }
                assert (await client.inspect("GET", "connections")).json() == {"connections": [shown]}
                row = await client.host.find("default", "counter", ("main",))
                assert row is not None
                await client.host.sleep(row.id)
                assert (await client.inspect("GET", "summary")).json()["connections"] == [shown]
            assert (await client.inspect("GET", "connections")).json() == {"connections": []}
            assert (await client.inspect("GET", "traces")).json() == {"otlp": [], "clamped": False}

    run(main())


def test_what_an_actor_keeps_about_a_connection_may_be_anything() -> None:
    odd = ConnectionView("c", {"a": 1}, object, 2, lasting=False)
    details = connection_json(odd)
    assert details["state"] == "<class 'object'>"
    assert (details["subscriptions"], details["isHibernatable"]) == (2, False)
