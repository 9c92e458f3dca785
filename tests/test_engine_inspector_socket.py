"""The inspector's WebSocket over ASGI: who gets in, what it shows, answers, and tells by itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, TypeVar

import pytest

from rivetpy import Registry, actor, event, queue, setup
from rivetpy.wire import cborvalue, inspected, inspecting, transport
from rivetpy.wire.inspected import TO_INSPECTOR, ToInspector
from rivetpy.wire.inspecting import TO_ACTOR, ToActor
from rivetpy.workflow import workflow
from tests.support.asgi import GOT, Client, serving
from tests.support.jump import run
from tests.support.sockets import Closing, WebSocket, connecting

T = TypeVar("T")

RPCS = ["break_soon", "breaks", "grow", "ping", "plan"]


async def add(step: Any, n: int) -> int:
    step.state["value"] += n
    return n


async def one(loop: Any) -> None:
    message = await loop.queue.next("wait", ["jobs"])
    await loop.step("add", add, message.body)


async def flow(ctx: Any) -> None:
    await ctx.loop("main", one)


async def plan(c: Any) -> str:
    await c.cron.every("tick", 60, "ping")
    return str(await c.schedule.after(30, "ping"))


async def grow(c: Any, n: int) -> int:
    c.state["value"] += n
    return int(c.state["value"])


async def break_soon(c: Any) -> None:
    await c.cron.set("daily", "30 4 * * *", "ping", timezone="Europe/Vienna", max_history=5)
    await c.cron.every("broken", 60, "breaks")


def breaks(c: Any) -> None:
    raise ValueError("no")


def registry() -> Registry:
    counter = actor(
        state={"value": 0},
        queues={"jobs": queue(), "idle": queue()},
        events={"news": event()},
        run=workflow(flow),
        actions={
            "ping": lambda c: "pong",
            "plan": plan,
            "grow": grow,
            "break_soon": break_soon,
            "breaks": breaks,
        },
    )
    plain = actor(db=True, actions={"fill": lambda c: c.db.execute("CREATE TABLE t (a)")})
    return setup(use={"counter": counter, "plain": plain})


class Looking(WebSocket):
    """An inspector of one actor."""

    def __init__(
        self, client: Client, actor_id: str, token: str, version: int | None, query: str | None = None
    ) -> None:
        if query is None:
            query = "" if version is None else f"?protocol_version={version}"
        subprotocols = ["rivet", "rivet_encoding.bare", f"rivet_inspector_token.{token}"]
        path = f"/gateway/{actor_id}/inspector/connect{query}"
        super().__init__(client.app, path, subprotocols, {"host": "localhost"})
        self.version = version or inspecting.UNNAMED
        self.prefix = b"" if version else b"\x05\x00"

    async def hear(self) -> ToInspector:
        frame = await self.receive()
        assert isinstance(frame, bytes)
        assert frame.startswith(self.prefix)
        return TO_INSPECTOR.read(frame[len(self.prefix) :], self.version)

    async def until(self, kind: type[T]) -> T:
        """The next message of a kind, whatever comes before it."""
        while not isinstance(heard := await self.hear(), kind):
            pass
        return heard

    def ask(self, message: ToActor) -> None:
        self.send(self.prefix + TO_ACTOR.write(message, self.version))


async def made(client: Client, name: str = "counter") -> str:
    row, _ = await client.host.get_or_create("default", name, ("main",))
    await asyncio.sleep(1)
    return row.id


@contextlib.asynccontextmanager
async def looking(
    client: Client, version: int | None = 6, name: str = "counter"
) -> AsyncIterator[tuple[Looking, inspected.Init]]:
    actor_id = await made(client, name)
    socket = Looking(client, actor_id, await client.host.inspector_token(actor_id), version)
    try:
        assert await socket.accepted() == "rivet"
        init = await socket.hear()
        assert isinstance(init, inspected.Init)
        yield socket, init
        await socket.close()
    finally:
        socket.task.cancel()
        await asyncio.gather(socket.task, return_exceptions=True)


def value(data: bytes | None) -> Any:
    return None if data is None else cborvalue.loads(data)


@pytest.mark.parametrize("version", [None, 1, 2, 3, 4, 5, 6])
def test_all_there_is_to_see_comes_first(version: int | None) -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            await client.act("plan")
            await client.send("idle", body=1)
            async with looking(client, version) as (socket, init):
                assert value(init.state) == {"value": 0}
                assert init.is_state_enabled
                assert init.rpcs == RPCS
                assert not init.is_database_enabled
                if socket.version >= 2:
                    assert init.queue_size == 1
                    assert init.is_workflow_enabled
                    assert init.workflow_history is not None
                    assert transport.read_history(init.workflow_history).names == ["main", "wait"]
                assert [each.kind for each in init.schedules] == (["at", "every"] if version == 6 else [])
                socket.ask(inspecting.StateRequest(4))
                answer = await socket.until(inspected.StateResponse)
                assert (answer.rid, value(answer.state), answer.is_state_enabled) == (4, {"value": 0}, True)

    run(main())


def test_the_workflow_as_it_goes_on() -> None:
    async def main() -> None:
        async with serving(registry()) as client, looking(client) as (socket, _):
            await client.send("jobs", body=5)
            assert value((await socket.until(inspected.StateUpdated)).state) == {"value": 5}
            history: transport.History | None = None
            while history is None or len(history.entries) < 4:
                updated = await socket.until(inspected.WorkflowHistoryUpdated)
                history = transport.read_history(updated.history)
            kinds = {type(each.kind) for each in history.entries}
            assert kinds == {transport.Loop, transport.Message, transport.Step}
            step = next(each for each in history.entries if isinstance(each.kind, transport.Step))
            assert step.location == [0, transport.Iteration(0, 0), 2]
            assert value(step.kind.output) == 5  # type: ignore[union-attr]
            standing = history.metadata[step.id]
            assert transport.ENTRY_STATUS[standing.status] == "completed"
            socket.ask(inspecting.WorkflowHistoryRequest(9))
            answer = await socket.until(inspected.WorkflowHistoryResponse)
            assert (answer.rid, answer.is_workflow_enabled) == (9, True)
            socket.ask(inspecting.WorkflowReplayRequest(10, "nobody"))
            assert (await socket.until(inspected.Error)).message.startswith("internal_error: Workflow step")
            socket.ask(inspecting.WorkflowReplayRequest(11, step.id))
            replayed = await socket.until(inspected.WorkflowReplayResponse)
            assert (replayed.rid, replayed.is_workflow_enabled) == (11, True)

    run(main())


def test_requests() -> None:
    async def main() -> None:
        async with serving(registry()) as client, looking(client) as (socket, _):
            socket.ask(inspecting.ActionRequest(1, "grow", cborvalue.dumps([3])))
            answer = await socket.until(inspected.ActionResponse)
            assert (answer.rid, value(answer.output)) == (1, 3)
            socket.ask(inspecting.ActionRequest(2, "nope", b"\x80"))
            assert (await socket.until(inspected.Error)).message.startswith("action_not_found: Action")
            socket.ask(inspecting.PatchState(cborvalue.dumps({"value": 9})))
            while value((await socket.until(inspected.StateUpdated)).state) != {"value": 9}:
                pass
            socket.ask(inspecting.RpcsListRequest(3))
            rpcs = await socket.until(inspected.RpcsListResponse)
            assert rpcs == inspected.RpcsListResponse(3, RPCS)
            socket.ask(inspecting.TraceQueryRequest(4, 0, 0, 0))
            assert (await socket.until(inspected.TraceQueryResponse)).rid == 4
            for body in range(3):
                await client.send("idle", body=body)
            while (await socket.until(inspected.QueueUpdated)).queue_size < 3:
                pass
            socket.ask(inspecting.QueueRequest(5, 2))
            status = (await socket.until(inspected.QueueResponse)).status
            assert (status.size, status.max_size, status.truncated) == (3, 1000, True)
            assert [(each.id, each.name) for each in status.messages] == [(1, "idle"), (2, "idle")]

    run(main())


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (b"", "invalid_request: This is not BARE"),
        (b"\xff\x01", "invalid_request: There is a number below 14"),
        (b"\x00\x01\xff", "invalid_request: "),
        ("text", "invalid_request: "),
        (b"\x0d\x01\x01s\x04hour", "invalid_request: A schedule is at, cron or every"),
        (b"\x09\x01", "not_enabled: "),
    ],
    ids=["empty", "unknown", "bad-cbor", "text", "bad-kind", "no-database"],
)
def test_what_can_not_be_answered(frame: bytes | str, says: str) -> None:
    async def main() -> None:
        async with serving(registry()) as client, looking(client) as (socket, _):
            socket.send(frame)
            assert (await socket.until(inspected.Error)).message.startswith(says)
            socket.ask(inspecting.StateRequest(1))
            assert (await socket.until(inspected.StateResponse)).rid == 1

    run(main())


def test_schedules() -> None:
    async def main() -> None:
        async with serving(registry()) as client, looking(client) as (socket, init):
            assert init.schedules == []
            socket.ask(inspecting.ActionRequest(1, "plan", b"\x80"))
            planned = (await socket.until(inspected.SchedulesUpdated)).schedules
            if len(planned) < 2:
                planned = (await socket.until(inspected.SchedulesUpdated)).schedules
            once, job = planned
            assert (once.kind, once.name, once.action, value(once.args)) == ("at", None, "ping", [])
            assert (job.id, job.name, job.kind, job.interval_ms, job.max_history) == (
                "tick",
                "tick",
                "every",
                60_000,
                100,
            )
            await asyncio.sleep(61)
            socket.ask(inspecting.ScheduleHistoryRequest(2, "tick", 10))
            history = await socket.until(inspected.ScheduleHistoryResponse)
            assert (history.rid, history.schedule_id) == (2, "tick")
            assert [(each.action, each.result, each.error) for each in history.history] == [
                ("ping", "ok", None)
            ]
            socket.ask(inspecting.SchedulesRequest(3))
            (left,) = (await socket.until(inspected.SchedulesResponse)).schedules
            assert left.last_run_at == history.history[0].fired_at
            for deleted in (True, False):
                socket.ask(inspecting.ScheduleDeleteRequest(4, "tick", "every"))
                answer = await socket.until(inspected.ScheduleDeleteResponse)
                assert answer == inspected.ScheduleDeleteResponse(4, "tick", deleted)
            socket.ask(inspecting.ScheduleHistoryRequest(5, "tick", 10))
            assert (await socket.until(inspected.ScheduleHistoryResponse)).history == []

    run(main())


def test_jobs_by_expression_and_calls_that_failed() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            await client.act("break_soon")
            await asyncio.sleep(61)
            async with looking(client) as (socket, init):
                daily = next(each for each in init.schedules if each.kind == "cron")
                assert (daily.id, daily.expression, daily.timezone, daily.interval_ms, daily.max_history) == (
                    "daily",
                    "30 4 * * *",
                    "Europe/Vienna",
                    None,
                    5,
                )
                socket.ask(inspecting.ScheduleHistoryRequest(1, "broken", 10))
                (fire,) = (await socket.until(inspected.ScheduleHistoryResponse)).history
                assert fire.result == "error"
                assert fire.error == inspected.ScheduleError("user", "failed", "ValueError: no")

    run(main())


def test_a_database() -> None:
    async def main() -> None:
        async with serving(registry()) as client, looking(client, name="plain") as (socket, init):
            assert init.is_database_enabled
            assert (init.state, init.is_state_enabled, init.workflow_history) == (None, False, None)
            await client.act("fill", actor="plain")
            socket.ask(inspecting.DatabaseSchemaRequest(1))
            schema = await socket.until(inspected.DatabaseSchemaResponse)
            assert [each["table"]["name"] for each in value(schema.schema)["tables"]] == ["t"]
            socket.ask(inspecting.DatabaseTableRowsRequest(2, "t", 10, 0))
            assert value((await socket.until(inspected.DatabaseTableRowsResponse)).result) == []

    run(main())


def test_who_comes_and_goes() -> None:
    async def main() -> None:
        async with serving(registry()) as client, looking(client) as (socket, init):
            assert init.connections == []
            path = f"/gateway/counter/connect?{GOT}&rvt-key=main"
            async with connecting(client.app, path, "json", '{"who":"x"}') as talk:
                (there,) = (await socket.until(inspected.ConnectionsUpdated)).connections
                assert value(there.details)["params"] == {"who": "x"}
                talk.subscribe("news")
                (there,) = (await socket.until(inspected.ConnectionsUpdated)).connections
                assert value(there.details)["subscriptions"] == 1
            while (await socket.until(inspected.ConnectionsUpdated)).connections:
                pass
            socket.ask(inspecting.ConnectionsRequest(1))
            assert (await socket.until(inspected.ConnectionsResponse)).connections == []

    run(main())


def test_looking_wakes_nobody_and_outlives_sleep() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            actor_id = await made(client)
            await client.host.sleep(actor_id)
            async with looking_at(client, actor_id) as socket:
                await socket.until(inspected.Init)
                assert not client.host.is_awake(actor_id)
                await client.send("jobs", body=2)
                assert value((await socket.until(inspected.StateUpdated)).state) == {"value": 2}
                await client.host.destroy(actor_id)
                with pytest.raises(Closing) as closed:
                    await socket.until(inspected.Init)
                assert (closed.value.code, closed.value.reason) == (1011, "actor.not_found")

    run(main())


@contextlib.asynccontextmanager
async def looking_at(
    client: Client, actor_id: str, token: str | None = None, query: str = "?protocol_version=6"
) -> AsyncIterator[Looking]:
    if token is None:
        token = await client.host.inspector_token(actor_id)
    socket = Looking(client, actor_id, token, 6, query)
    try:
        assert await socket.accepted() == "rivet"
        yield socket
    finally:
        socket.task.cancel()
        await asyncio.gather(socket.task, return_exceptions=True)


@pytest.mark.parametrize("query", ["0", "7", "wat", "", "-1", "6.0", "٦", "99999999"])
def test_versions_there_are_not(query: str) -> None:
    async def main() -> None:
        async with (
            serving(registry()) as client,
            looking_at(client, await made(client), "x", f"?protocol_version={query}") as socket,
        ):
            with pytest.raises(Closing) as closed:
                await socket.receive()
            assert (closed.value.code, closed.value.reason) == (1002, "inspector.invalid_protocol_version")

    run(main())


def test_who_does_not_get_in() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            actor_id = await made(client)
            for wrong in ("", "token"):
                async with looking_at(client, actor_id, wrong) as socket:
                    with pytest.raises(Closing) as closed:
                        await socket.receive()
                    assert (closed.value.code, closed.value.reason) == (1008, "inspector.unauthorized")
            async with looking_at(client, "nobody", "x") as socket:
                with pytest.raises(Closing) as closed:
                    await socket.receive()
                assert (closed.value.code, closed.value.reason) == (1011, "actor.not_found")
            token = await client.host.inspector_token(actor_id)
            headers = {"host": "localhost", "authorization": f"Bearer {token}"}
            path = f"/gateway/counter/inspector/connect?protocol_version=6&{GOT}&rvt-key=main"
            socket = WebSocket(client.app, path, ["rivet"], headers)
            await socket.accepted()
            assert isinstance(await socket.receive(), bytes)
            await socket.close()

    run(main())


def test_a_stop_of_the_engine_ends_it() -> None:
    async def main() -> None:
        async with serving(registry()) as client, looking_at(client, await made(client)) as socket:
            await socket.until(inspected.Init)
            client.app.state.stopping.set()
            with pytest.raises(Closing) as closed:
                await socket.until(inspected.Init)
            assert (closed.value.code, closed.value.reason) == (1011, "actor.restarting")

    run(main())


def test_many_changes_are_few_updates() -> None:
    async def main() -> None:
        async with serving(registry()) as client, looking(client) as (socket, _):
            for _ in range(50):
                await client.act("grow", 1)
            updates = 0
            while True:
                updates += 1
                if value((await socket.until(inspected.StateUpdated)).state) == {"value": 50}:
                    break
            assert updates < 10

    run(main())


def test_nobody_who_left_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            async with looking(client):
                pass
            watchers = vars(vars(client.host)["_store"])["_watchers"]
            assert watchers == {}

    run(main())
