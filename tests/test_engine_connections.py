"""Connections over the engine's WebSockets: handshake, messages in three encodings, limits, refusals, the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rivetpy import ActorOptions, Registry, UserError, actor, event, setup
from rivetpy.engine import sockets
from rivetpy.wire.messages import ActionResponse, Event, Init
from tests.support.asgi import GOT, MADE, Client, serving
from tests.support.jump import run
from tests.support.sockets import Closing, Talking, WebSocket, connecting

ENCODINGS = pytest.mark.parametrize("encoding", ["bare", "cbor", "json"])
MAIN = f"/gateway/room/connect?{MADE}&rvt-key=main"


def shout(c: Any, *args: Any) -> int:
    c.broadcast("said", *args)
    return len(args)


def refuse(c: Any, params: Any) -> None:
    if params == "no":
        raise UserError("not you", code="unwanted", metadata={"params": params})
    if params == "crash":
        raise ValueError("the password is hunter2")


def greet(c: Any, conn: Any) -> None:
    if conn.params == "greet":
        conn.send("welcome", "early")


def fail(c: Any) -> None:
    raise UserError("user says no", code="my_code", metadata={"big": 2, "x": object()})


async def slow(c: Any, seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "done"


def registry(**options: Any) -> Registry:
    room = actor(
        actions={
            "shout": shout,
            "fail": fail,
            "slow": slow,
            "whoami": lambda c: [c.conn.id, c.conn.params],
            "echo": lambda c, *args: list(args),
            "big": lambda c, size: "x" * size,
            "kick": lambda c: c.conn.disconnect("go.away"),
            "destroy": lambda c: c.destroy(),
        },
        on_before_connect=refuse,
        on_connect=greet,
        on_disconnect=lambda c, conn: left.append(conn.params),
        options=ActorOptions(**options),
    )
    strict = actor(actions={"shout": shout}, events={"said": event()})
    return setup(use={"room": room, "strict": strict})


left: list[Any] = []


@asynccontextmanager
async def connected(
    encoding: str = "bare", params: str | None = None, **options: Any
) -> AsyncIterator[tuple[Client, Talking]]:
    async with (
        serving(registry(**options)) as client,
        connecting(client.app, MAIN, encoding, params) as socket,
    ):
        init = await socket.hear()
        assert isinstance(init, Init)
        assert len(init.actor_id) == 30
        yield client, socket


async def closed(socket: WebSocket) -> tuple[int, str]:
    with pytest.raises(Closing) as closing:
        while True:
            await socket.receive()
    return closing.value.code, closing.value.reason


@ENCODINGS
def test_actions_and_events(encoding: str) -> None:
    async def main() -> None:
        async with connected(encoding, '{"who":"mé"}') as (client, socket):
            socket.call(0, "whoami")
            answer = await socket.hear()
            assert isinstance(answer, ActionResponse)
            assert answer.id == 0 and answer.output[1] == {"who": "mé"}
            socket.subscribe("said")
            socket.call(1, "shout", 3, {"x": b"\x00"}, None)
            assert await socket.hear() == Event("said", [3, {"x": b"\x00"}, None])
            assert await socket.hear() == ActionResponse(1, 3)
            await client.act("shout", "from elsewhere", actor="room")
            assert await socket.hear() == Event("said", ["from elsewhere"])
            socket.subscribe("said", False)
            socket.call(2**40, "shout", 4)
            assert await socket.hear() == ActionResponse(2**40, 1)

    run(main())


@ENCODINGS
def test_errors_of_actions(encoding: str, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with connected(encoding) as (_, socket):
            socket.call(7, "fail")
            error = await socket.error()
            assert (error.group, error.code, error.message) == ("user", "my_code", "user says no")
            assert (error.action_id, error.actor and error.actor.key) == (7, "main")
            assert "$.x" in error.metadata["unreadable"]
            socket.call(8, "nope")
            assert (await socket.error()).code == "action_not_found"
            socket.call(9, "big", 1 << 20)
            error = await socket.error()
            assert (error.group, error.code, error.action_id) == ("message", "outgoing_too_long", 9)
            socket.call(10, "slow", "x")
            error = await socket.error()
            assert (error.group, error.code, error.action_id) == ("rivetkit", "internal_error", 10)
            (record,) = [each for each in caplog.records if each.exc_info]
            assert (vars(record)["actor"], vars(record)["key"]) == ("room", "main")
            assert record.getMessage().startswith("action 'slow' failed (ray ")
            socket.call(11, "echo", "still here")
            assert await socket.hear() == ActionResponse(11, ["still here"])

    run(main())


def test_actions_of_one_connection_run_side_by_side() -> None:
    async def main() -> None:
        async with connected() as (_, socket):
            socket.call(0, "slow", 5)
            socket.call(1, "slow", 1)
            assert await socket.hear() == ActionResponse(1, "done")
            assert await socket.hear() == ActionResponse(0, "done")
            for number in range(200):  # more than may run at a time
                socket.call(number, "slow", 1)
            heard = [await socket.hear() for _ in range(200)]
            assert {each.id for each in heard if isinstance(each, ActionResponse)} == set(range(200))

    run(main())


def test_what_a_hook_sends_comes_after_init() -> None:
    async def main() -> None:
        async with connected(params='"greet"') as (_, socket):
            assert await socket.hear() == Event("welcome", ["early"])

    run(main())


@ENCODINGS
def test_the_actor_refuses_and_says_why(encoding: str) -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            for params, group, code in (
                ('"no"', "user", "unwanted"),
                ('"crash"', "rivetkit", "internal_error"),
            ):
                async with connecting(client.app, MAIN, encoding, params) as socket:
                    error = await socket.error()
                    assert (error.group, error.code, error.action_id) == (group, code, None)
                    assert "hunter2" not in error.message
                    assert await closed(socket) == (1011, f"{group}.{code}")

    run(main())


def test_subscriptions_that_are_refused() -> None:
    async def main() -> None:
        async with (
            serving(registry()) as client,
            connecting(client.app, MAIN.replace("room", "strict")) as socket,
        ):
            await socket.hear()
            socket.subscribe("sad")
            error = await socket.error()
            assert (error.group, error.code, error.action_id) == ("event", "not_declared", None)
            socket.subscribe("said")
            socket.call(0, "shout", 1)
            assert await socket.hear() == Event("said", [1])

    run(main())


@pytest.mark.parametrize(
    ("path", "subprotocols", "headers", "code", "reason"),
    [
        (f"/gateway/room/connect?{GOT}&rvt-key=x", [], {}, 1011, "actor.not_found"),
        ("/gateway/nobody/connect", [], {}, 1011, "actor.not_found"),
        (MAIN.replace("room", "rom"), [], {}, 1011, "actor.not_configured"),
        (MAIN + "&rvt-x=1", [], {}, 1011, "guard.query_invalid_params"),
        (MAIN.replace("=default", "=prod", 1), [], {}, 1011, "namespace.not_found"),
        (MAIN, ["rivet_encoding.xml"], {}, 1003, "actor.unsupported_websocket_encoding"),
        (MAIN, ["rivet_conn_params.%7B"], {}, 1011, "actor.invalid_request"),
        (MAIN, ["rivet_conn_params.%FF"], {}, 1011, "actor.invalid_request"),
        ("/connect", [], {}, 1011, "guard.no_route"),
        ("/connect", ["rivet_target.actor", "rivet_actor.nobody"], {}, 1011, "actor.not_found"),
        (MAIN, [], {"host": "evil.example"}, 1011, "auth.forbidden"),
        (MAIN, [], {"origin": "https://evil.example"}, 1011, "auth.forbidden"),
    ],
)
def test_handshakes_that_lead_nowhere(
    path: str, subprotocols: list[str], headers: dict[str, str], code: int, reason: str
) -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            socket = WebSocket(client.app, path, ["rivet", *subprotocols], {"host": "localhost", **headers})
            assert await socket.accepted() == "rivet"
            with pytest.raises(Closing) as closing:
                await socket.receive()
            assert (closing.value.code, closing.value.reason) == (code, reason)
            assert len(closing.value.ray_id) == 30
            await socket.task
            assert await client.host.find("default", "room", ("main",)) is None

    run(main())


def test_the_root_form_and_the_token_in_subprotocols() -> None:
    async def main() -> None:
        async with serving(registry(), token="s3cret") as client:
            row, _ = await client.host.get_or_create("default", "room", ())
            offered = ["rivet", "rivet_target.actor", f"rivet_actor.{row.id}"]
            socket = WebSocket(client.app, "/connect", [*offered, "rivet_token.s3cret"], {})
            assert await socket.accepted() == "rivet"
            frame = await socket.receive()
            assert isinstance(frame, str)  # no encoding asked for is JSON
            assert json.loads(frame)["body"]["val"]["actorId"] == row.id
            await socket.close()
            for wrong in ([], ["rivet_token.other"]):
                socket = WebSocket(client.app, "/connect", [*offered, *wrong], {})
                await socket.accepted()
                assert await closed(socket) == (1011, "auth.forbidden")

    run(main())


@pytest.mark.parametrize(
    "frame", [b"", b"\xff", b"\x04\x00\x05", b"\x04\x00\x00\x00\x01x\x01", "{}", b"x" * 65536]
)
def test_frames_that_are_no_message(frame: bytes | str) -> None:
    async def main() -> None:
        async with connected() as (_, socket):
            socket.send(frame)
            assert await closed(socket) == (1011, "actor.invalid_request")

    run(main())


def test_limits() -> None:
    async def main() -> None:
        async with connected() as (_, socket):
            socket.send(b"x" * 65537)
            assert await closed(socket) == (1011, "message.incoming_too_long")
        async with connected(max_outgoing_message_size=1000) as (_, socket):
            socket.subscribe("said")
            socket.call(0, "shout", "x" * 1000)
            assert await closed(socket) == (1011, "message.outgoing_too_long")

    run(main())


def test_a_client_that_does_not_read_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "MAX_BEHIND", 10_000)

    async def main() -> None:
        async with connected() as (client, socket):
            socket.subscribe("said")
            socket.call(0, "echo")
            await socket.hear()
            socket.stuck.clear()
            for _ in range(20):
                await client.act("shout", "x" * 1000, actor="room")
            await asyncio.wait_for(socket.task, 100)
            socket.call(1, "echo")

    run(main())


def test_the_ends() -> None:
    async def main() -> None:
        left.clear()
        async with connected(params='"a"') as (client, socket):
            socket.call(0, "kick")
            assert await closed(socket) == (1000, "go.away")
            await socket.task
            assert left == ["a"]
            async with connecting(client.app, MAIN, params='"b"') as other:
                await other.hear()
            assert left == ["a", "b"]
            async with connecting(client.app, MAIN, params='"c"') as other:
                await other.hear()
                await client.act("destroy", actor="room")
                assert await closed(other) == (1011, "actor.destroyed")

    run(main())


def test_stopping_answers_what_runs_and_says_that_it_restarts() -> None:
    async def main() -> None:
        async with connected() as (client, socket):
            socket.call(0, "slow", 3)
            socket.call(1, "echo")
            assert await socket.hear() == ActionResponse(1, [])
            client.app.state.stopping.set()
            assert await socket.hear() == ActionResponse(0, "done")
            assert await closed(socket) == (1011, "actor.restarting")
            await socket.task
            assert not client.app.state.sockets
            async with connecting(client.app, MAIN) as late:
                assert await closed(late) == (1011, "actor.restarting")

    run(main())


def test_connections_stay_while_the_actor_sleeps() -> None:
    async def main() -> None:
        async with connected(params="1") as (client, socket):
            socket.subscribe("said")
            socket.call(0, "echo")
            await socket.hear()
            row = await client.host.find("default", "room", ("main",))
            assert row is not None
            await client.host.sleep(row.id)
            assert not client.host.is_awake(row.id)
            assert socket.silent()
            socket.call(1, "shout", "awake")
            assert await socket.hear() == Event("said", ["awake"])
            assert await socket.hear() == ActionResponse(1, 1)

    run(main())
