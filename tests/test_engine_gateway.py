"""The gateway over ASGI: actions and queues, what refuses, limits while reading, headers, people who leave."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.actors import registry
from tests.support.asgi import GOT, MADE, Client, error_of, serving
from tests.support.jump import run


def test_actions_and_their_answers() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            assert (await client.act("add", 5)).json() == {"output": 5}
            assert (await client.act("echo", ["$$foo", 1])).json() == {"output": [["$$foo", 1]]}
            assert (await client.act("nothing")).json() == {"output": None}
            assert (await client.act("a.b%2Fc")).json() == {"output": "nested"}
            assert (await client.act("ping", actor="plain")).json() == {"output": "pong"}
            assert (await client.act("add", 1, key="a%2Cb")).json() == {"output": 1}
            assert await client.host.find("default", "counter", ("a", "b")) is not None

    run(main())


def test_the_direct_form_and_what_every_answer_carries() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            row, _ = await client.host.get_or_create("default", "counter", ("org/x", "room é\r\n"))
            response = await client.post(f"/gateway/{row.id}@anything/action/add", {"args": [2]})
            assert response.json() == {"output": 2}
            headers = dict(response.headers.raw)
            assert headers[b"x-rivet-actor"].decode() == row.id
            assert headers[b"x-rivet-actor-generation"] == b"1"
            assert headers[b"x-rivet-actor-key"] == "org\\/x/room é%0D%0A".encode()
            assert len(headers[b"x-rivet-ray-id"]) == 30

    run(main())


def test_errors_of_actions(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            refused = await client.act("refuse")
            actor = refused.headers["x-rivet-actor"]
            assert refused.json() == {
                "group": "user",
                "code": "my_code",
                "message": "user says no",
                "metadata": {"big": 2, "x": 1},
                "actor": {"actorId": actor, "generation": 1, "key": "main"},
            }
            assert error_of(refused) == (500, "user.my_code")
            assert error_of(await client.act("nope")) == (404, "actor.action_not_found")
            unfit = await client.act("nothing", 1, 2)
            assert error_of(unfit) == (400, "actor.invalid_request")
            assert "'nothing' was given arguments that don't fit: too many" in unfit.json()["message"]
            assert error_of(await client.act("slow", 100)) == (408, "actor.action_timed_out")
            weird = await client.act("weird")
            assert error_of(weird) == (400, "actor.value_not_encodable")
            assert "$.x" in weird.json()["message"]
            caplog.clear()
            crashed = await client.act("crash")
            assert error_of(crashed) == (500, "rivetkit.internal_error")
            assert crashed.json()["message"] == "An internal error occurred"
            assert "hunter2" not in crashed.text
            assert "hunter2" in caplog.text
            (record,) = caplog.records
            assert (vars(record)["actor"], vars(record)["key"]) == ("counter", "main")
            assert record.getMessage() == f"action 'crash' failed (ray {crashed.headers['x-rivet-ray-id']})"

    with caplog.at_level(logging.ERROR, "rivetpy"):
        run(main())


def test_who_is_not_there() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            missing = await client.post(f"/gateway/counter/action/add?{GOT}&rvt-key=x", {})
            assert error_of(missing) == (404, "actor.not_found")
            assert error_of(await client.post("/gateway/abc/action/add", {})) == (404, "actor.not_found")
            unknown = await client.act("add", actor="conter")
            assert error_of(unknown)[1] == "actor.not_configured"
            assert "'counter'" in unknown.json()["message"]
            elsewhere = MADE.replace("namespace=default", "namespace=prod")
            response = await client.post(f"/gateway/counter/action/add?{elsewhere}", {})
            assert error_of(response) == (400, "namespace.not_found")
            row, _ = await client.host.get_or_create("default", "counter", ())
            await client.host.destroy(row.id)
            assert error_of(await client.post(f"/gateway/{row.id}/action/add", {})) == (
                404,
                "actor.not_found",
            )

    run(main())


@pytest.mark.parametrize("body", [b"", b"{", b'{"args":[NaN]}', b"[1]", b"\xff", b'{"args":["$Nope",1]}'])
def test_bodies_that_are_no_action(body: bytes) -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            response = await client.post(f"/gateway/counter/action/echo?{MADE}", body)
            assert error_of(response) == (400, "actor.invalid_request")
            if body == b"{":
                assert "line 1 column 2" in response.json()["message"]

    run(main())


def test_routes_of_an_actor() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            await client.act("nothing")
            at = f"?{GOT}&rvt-key=main"
            assert (await client.get(f"/gateway/counter/health{at}")).text == "ok"
            metadata = (await client.get(f"/gateway/counter/metadata{at}")).json()
            assert metadata == {"runtime": "rivetkit", "type": "local", "version": "2.3.19"}
            assert (await client.get(f"/gateway/counter/{at}")).status_code == 200
            wrong = await client.get(f"/gateway/counter/action/add{at}")
            assert error_of(wrong) == (405, "actor.method_not_allowed")
            assert wrong.json()["metadata"] == {"method": "GET", "path": "/action/add"}
            for path in ("/nope", "/action", "/action/a/b", "/queue/"):
                gone = await client.post(f"/gateway/counter{path}{at}", {})
                assert error_of(gone) == (404, "actor.not_found")
                assert gone.json()["metadata"] == {"id": path, "resource": "route"}
            bad = await client.get(f"/gateway/counter/health?{GOT}&rvt-y=2")
            assert error_of(bad) == (400, "guard.query_invalid_params")

    run(main())


def test_an_unheard_of_encoding_is_json() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            assert (await client.act("add", 1, **{"x-rivet-encoding": "unheard"})).json() == {"output": 1}

    run(main())


def test_the_root_form_names_its_actor_in_headers() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            row, _ = await client.host.get_or_create("default", "counter", ("main",))
            headers = {"x-rivet-target": "actor", "x-rivet-actor": row.id}
            assert (await client.get("/health", headers=headers)).text == "ok"
            assert (await client.post("/action/add", {"args": [2]}, headers)).json() == {"output": 2}
            gone = await client.get("/health", headers={**headers, "x-rivet-actor": "nobody"})
            assert error_of(gone) == (404, "actor.not_found")
            for partial in ({"x-rivet-target": "actor"}, {"x-rivet-actor": row.id}):
                assert (await client.get("/health", headers=partial)).json()["runtime"] == "engine"

    run(main())


def test_sends_with_and_without_waiting() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            assert (await client.send("jobs", body={"n": 2})).json() == {"status": "completed"}
            answered = await client.send("jobs", body={"n": 3}, wait=True)
            assert answered.json() == {"status": "completed", "response": {"total": 5}}
            late = await client.send("idle", body=1, wait=True, timeout=2000)
            assert late.json() == {"status": "timedOut"}
            loop = asyncio.get_running_loop()
            before = loop.time()
            cut = await client.send("idle", body=1, wait=True, timeout=600_000)
            assert error_of(cut) == (408, "actor.action_timed_out")
            assert loop.time() - before == pytest.approx(60)

    run(main())


def test_sends_that_are_refused() -> None:
    async def main() -> None:
        async with serving(registry(max_queue_size=1)) as client:
            unknown = await client.send("job", body=1)
            assert error_of(unknown) == (400, "queue.not_declared")
            assert "'jobs'" in unknown.json()["message"]
            await client.send("idle", body=1)
            assert error_of(await client.send("idle", body=2)) == (400, "queue.full")
            assert error_of(await client.send("jobs", wait="yes")) == (400, "actor.invalid_request")

    run(main())


def test_the_same_idempotency_key_enqueues_once() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            for _ in range(3):
                sent = await client.send("jobs", body={"n": 2}, wait=True, idempotencyKey="k")
                assert sent.json() == {"status": "completed", "response": {"total": 2}}

    run(main())


async def chunks(count: int, size: int, log: list[int]) -> AsyncIterator[bytes]:
    for number in range(count):
        log.append(number)
        yield b" " * size


def test_a_body_that_is_too_long_is_not_read_to_its_end() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            path = f"/gateway/counter/queue/jobs?{MADE}"
            declared = await client.http.post(path, content=b" " * 65537)
            assert error_of(declared) == (400, "message.incoming_too_long")
            taken: list[int] = []
            chunked = await client.http.post(path, content=chunks(1000, 1024, taken))
            assert error_of(chunked) == (400, "message.incoming_too_long")
            assert len(taken) <= 66
            assert await client.host.find("default", "counter", ()) is None
            just = json.dumps({"body": {"n": 1, "pad": "x" * 65000}}).encode()
            assert (await client.http.post(path, content=just)).status_code == 200

    run(main())


def test_limits_are_the_actors_own() -> None:
    async def main() -> None:
        async with serving(registry(max_incoming_message_size=100, max_outgoing_message_size=50)) as client:
            assert error_of(await client.act("echo", "x" * 100)) == (400, "message.incoming_too_long")
            assert error_of(await client.act("big", 60)) == (400, "message.outgoing_too_long")
            assert (await client.act("big", 5)).status_code == 200

    run(main())


def test_an_answer_over_a_mebibyte_is_refused() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            assert error_of(await client.act("big", 1024 * 1024)) == (400, "message.outgoing_too_long")

    run(main())


def test_a_sender_that_leaves_leaves_nothing_behind() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            await client.act("nothing")
            before = asyncio.all_tasks()
            sender = Sender(client, b'{"body":1,"wait":true}')
            sent = asyncio.create_task(client.app(sender.scope, sender.receive, sender.send))
            await asyncio.sleep(5)
            assert not sent.done()
            sender.leave.set()
            await sent
            assert sender.sent == []
            assert asyncio.all_tasks() == before
            row = await client.host.find("default", "counter", ("main",))
            assert row is not None
            view = await client.host.view(row.id)
            assert [message.queue for message in view.queue] == ["idle"]

    run(main())


def test_an_engine_that_stops_ends_the_waits() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            await client.act("nothing")
            waiting = asyncio.create_task(client.send("idle", body=1, wait=True))
            await asyncio.sleep(1)
            client.app.state.stopping.set()
            assert error_of(await waiting) == (503, "guard.tunnel_response_closed")

    run(main())


def test_a_sender_whose_actor_is_put_away_is_not_told_to_send_again() -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            await client.act("nothing")
            waiting = asyncio.create_task(client.send("idle", body=1, wait=True))
            await asyncio.sleep(1)
            row = await client.host.find("default", "counter", ("main",))
            assert row is not None
            await client.host.sleep(row.id)
            assert error_of(await waiting) == (503, "guard.tunnel_response_closed")
            assert (await client.inspect("GET", "queue")).json()["size"] == 1

    run(main())


class Sender:
    """A raw ASGI client that can go away in the middle."""

    def __init__(self, client: Client, body: bytes) -> None:
        query = f"{GOT}&rvt-key=main".encode()
        self.scope: dict[str, Any] = {
            "type": "http",
            "method": "POST",
            "path": "/gateway/counter/queue/idle",
            "raw_path": b"/gateway/counter/queue/idle",
            "query_string": query,
            "headers": [(b"host", b"localhost")],
        }
        self.body = [body]
        self.leave = asyncio.Event()
        self.sent: list[Any] = []

    async def receive(self) -> dict[str, Any]:
        if self.body:
            return {"type": "http.request", "body": self.body.pop(), "more_body": False}
        await self.leave.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)


paths = st.lists(
    st.sampled_from(
        [b"/", b"gateway", b"actors", b"counter", b"action", b"queue", b"inspector", b"state", b"%", b"@"]
    )
    | st.binary(max_size=4),
    max_size=10,
).map(b"".join)
queries = st.lists(
    st.sampled_from(
        [f"{MADE}&".encode(), f"{GOT}&".encode(), b"rvt-", b"namespace=default&", b"limit=", b"cursor="]
    )
    | st.binary(max_size=4),
    max_size=5,
).map(b"".join)
methods = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])


@settings(max_examples=150)
@given(methods, paths, queries, st.binary(max_size=20) | st.just(b"{}"))
def test_no_bytes_cause_an_internal_error(method: str, path: bytes, query: bytes, body: bytes) -> None:
    async def main() -> None:
        async with serving(registry()) as client:
            sender = Sender(client, body)
            raw = b"/" + path
            sender.scope |= {
                "method": method,
                "path": raw.decode("latin-1"),
                "raw_path": raw,
                "query_string": query,
            }
            await client.app(sender.scope, sender.receive, sender.send)
            start, end = sender.sent
            assert start["status"] < 500, end
            if start["status"] >= 400:
                assert json.loads(end["body"])["group"] != "rivetkit"

    run(main())
