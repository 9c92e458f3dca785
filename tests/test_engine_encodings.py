"""Actions and queues over the gateway in every encoding: answers in the request's, errors in JSON, limits alike."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from rivetpy import actor, setup
from rivetpy.wire.bodies import IDEMPOTENCY_HEADER, JSON, Bodies, QueueReply, QueueSend, bodies_for
from tests.support.actors import registry
from tests.support.asgi import MADE, Client, error_of, serving
from tests.support.jump import run

ENCODINGS = pytest.mark.parametrize("bodies", [bodies_for(name) for name in ("json", "cbor", "bare")])


async def post(client: Client, route: str, bodies: Bodies, data: bytes, **headers: str) -> httpx.Response:
    headers |= {"x-rivet-encoding": bodies.name, "content-type": bodies.content_type}
    return await client.http.post(f"/gateway/counter/{route}?{MADE}", content=data, headers=headers)


async def act(client: Client, bodies: Bodies, name: str, *args: Any) -> Any:
    response = await post(client, f"action/{name}", bodies, bodies.write_args(list(args)))
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == bodies.content_type
    return bodies.read_output(response.content)


@ENCODINGS
def test_actions(bodies: Bodies) -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            assert await act(client, bodies, "add", 5) == 5
            assert await act(client, bodies, "nothing") is None
            values = [None, True, 2**31, 2**40, 2**53, 2**70, -1.5, "é", b"\x00\xff", {1, 2}, ["$foo", 1]]
            assert await act(client, bodies, "echo", *values) == values
            assert await act(client, bodies, "getState") == {"value": 5}

    run(main())


@ENCODINGS
def test_sends(bodies: Bodies) -> None:
    async def main() -> None:
        async with serving(registry()) as client:

            async def send(body: Any, **options: Any) -> QueueReply:
                data = bodies.write_send("jobs", QueueSend(body, **options))
                key = {IDEMPOTENCY_HEADER: "once"} if body["n"] == 7 else {}
                response = await post(client, "queue/jobs", bodies, data, **key)
                assert response.status_code == 200, response.text
                return bodies.read_reply(response.content)

            assert await send({"n": 1}) == QueueReply("completed")
            assert await send({"n": 2}, wait=True) == QueueReply("completed", {"total": 3})
            await send({"n": 7})
            await send({"n": 7})
            assert await send({"n": 0}, wait=True, timeout=5) == QueueReply("completed", {"total": 10})
            idle = bodies.write_send("idle", QueueSend(1, wait=True, timeout=0.25))
            response = await post(client, "queue/idle", bodies, idle)
            assert bodies.read_reply(response.content) == QueueReply("timedOut")

    run(main())


@ENCODINGS
def test_errors_and_limits(bodies: Bodies) -> None:
    async def main() -> None:
        async with serving(registry(max_outgoing_message_size=1000)) as client:

            async def fails(name: str, data: bytes) -> tuple[int, str]:
                response = await post(client, f"action/{name}", bodies, data)
                assert response.headers["content-type"] == "application/json"
                return error_of(response)

            nothing = bodies.write_args([])
            assert await fails("refuse", nothing) == (500, "user.my_code")
            assert await fails("nope", nothing) == (404, "actor.action_not_found")
            assert await fails("nothing", b"") == (400, "actor.invalid_request")
            assert await fails("nothing", nothing[:-1]) == (400, "actor.invalid_request")
            assert await fails("nothing", b"\xff" * 100) == (400, "actor.invalid_request")
            assert await fails("echo", bodies.write_args(["x" * 65536])) == (400, "message.incoming_too_long")
            assert await fails("big", bodies.write_args([1001])) == (400, "message.outgoing_too_long")

    run(main())


@pytest.mark.parametrize(
    ("header", "answer"),
    [
        ('{"who":"séc"}', {"who": "séc"}),
        ('["$foo",1]', ["$foo", 1]),
        ("", None),
        ("{", (400, "actor.invalid_request")),
        ('"\\ud800"', (400, "actor.value_not_encodable")),
    ],
)
def test_connection_parameters_of_one_call(header: str, answer: Any) -> None:
    async def main() -> None:
        who = actor(actions={"who": lambda c: c.conn.params})
        async with serving(setup(use={"who": who})) as client:
            headers = [(b"x-rivet-conn-params", header.encode("latin-1"))]
            path = f"/gateway/who/action/who?{MADE}"
            response = await client.http.post(path, content=b"{}", headers=headers)
            if isinstance(answer, tuple):
                assert error_of(response) == answer
            else:
                assert JSON.read_output(response.content) == answer

    run(main())
