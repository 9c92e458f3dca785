"""Sends that wait: what a break, a restart and a foreign engine in between make of them, seen from the client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from rivetpy.cli.engine_api import EngineApi
from rivetpy.client.backend import Remote
from rivetpy.client.calls import BACK_OFF, Call
from rivetpy.client.endpoint import Endpoint
from rivetpy.client.handles import Client
from rivetpy.client.inprocess import InProcessTransport
from rivetpy.client.insistence import PATIENCE, Insistence
from rivetpy.client.plain import PlainTransport
from rivetpy.client.requests import ByKey, Requests
from rivetpy.errors import RivetError
from rivetpy.testing import Crashed, TestEngine, test_engine
from rivetpy.wire.bodies import QueueReply, QueueSend
from tests.support.actors import registry
from tests.support.live import live

T = TypeVar("T")


def error(name: str) -> RivetError:
    group, code = name.split(".")
    return RivetError(group, code, name)


LOST = "client.connection_lost"
FAILED = "client.connection_failed"
CUT = "guard.tunnel_response_closed"
RESTARTING = "actor.restarting"


@pytest.mark.parametrize(
    ("errors", "again"),
    [
        ([LOST], True),
        ([CUT], True),
        ([RESTARTING], True),
        ([FAILED], False),  # nobody was ever there
        ([LOST, FAILED, FAILED], True),
        ([RESTARTING, FAILED], True),
        (["actor.action_timed_out"], False),
        ([LOST, "queue.full"], False),
        (["user.no"], False),
    ],
)
def test_what_is_sent_again(errors: list[str], again: bool) -> None:
    send = Insistence(QueueSend(wait=True), lambda: 0)
    *earlier, last = map(error, errors)
    assert all(send.pause(each) for each in earlier)
    if again:
        assert send.pause(last)
    else:
        with pytest.raises(RivetError, match=errors[-1]):
            send.pause(last)


def test_it_is_one_message_and_waits_for_what_is_left() -> None:
    now = 100.0
    send = Insistence(QueueSend({"n": 1}, wait=True, timeout=5), lambda: now)
    first = send.message
    assert (first.body, first.wait, first.timeout) == ({"n": 1}, True, 5)
    now += 2
    assert send.pause(error(LOST)) == BACK_OFF[0]
    again = send.message
    assert (again.body, again.timeout, again.idempotency_key) == ({"n": 1}, 3, first.idempotency_key)
    now += 2.99
    with pytest.raises(RivetError, match=LOST):  # no time is left for another
        send.pause(error(LOST))
    assert Insistence(QueueSend(wait=True)).message.idempotency_key != first.idempotency_key
    assert Insistence(QueueSend(wait=True, idempotency_key="mine")).message.idempotency_key == "mine"


@pytest.mark.parametrize(("first", "told"), [(LOST, LOST), (RESTARTING, FAILED)])
def test_an_engine_that_stays_away_is_given_up(first: str, told: str) -> None:
    """With what is known of the message: that it may have been taken, or certainly was not."""
    now = 0.0
    send = Insistence(QueueSend(wait=True), lambda: now)
    now += send.pause(error(first))
    with pytest.raises(RivetError, match=told):
        while True:
            now += send.pause(error(FAILED))
    assert PATIENCE - BACK_OFF[-1] <= now < PATIENCE
    assert send.pause(error(LOST)), "it was there again"


# -- over a transport that fails ---------------------------------------------------------------------------


class Failing(InProcessTransport):
    """Loses answers: every request reaches the engine, but of each send only the answer ``after`` so many arrives."""

    def __init__(self, engine: TestEngine, lost: int) -> None:
        super().__init__(Endpoint("http", "localhost", 80), engine._serve)
        self.lost = lost
        self.sends: list[Any] = []

    async def run(self, call: Call[T]) -> T:
        result = await super().run(call)
        if "/queue/" in call.path:
            self.sends.append(json.loads(call.body or b""))
            if len(self.sends) <= self.lost:
                raise error(LOST)
        return result


def over(engine: TestEngine, lost: int) -> tuple[Failing, Client]:
    transport = Failing(engine, lost)
    return transport, Client(Remote(Requests(transport.endpoint), transport))


def test_a_lost_answer_is_asked_for_again_and_the_message_is_done_once() -> None:
    async def main() -> None:
        async with test_engine(registry()) as t:
            transport, client = over(t, lost=2)
            counter = client.counter.get_or_create("main")
            assert await counter.send("jobs", {"n": 3}, wait=True) == QueueReply("completed", {"total": 3})
            assert len({sent["idempotencyKey"] for sent in transport.sends}) == 1 < len(transport.sends)
            assert await counter.getState() == {"value": 3}
            await counter.send("jobs", {"n": 1}, wait=True)
            assert transport.sends[-1]["idempotencyKey"] != transport.sends[0]["idempotencyKey"]
            assert await counter.getState() == {"value": 4}

    asyncio.run(main())


def test_a_send_that_does_not_wait_is_not_repeated_by_itself() -> None:
    async def main() -> None:
        async with test_engine(registry()) as t:
            transport, client = over(t, lost=1)
            with pytest.raises(RivetError, match="connection_lost"):
                await client.counter.get_or_create("main").send("jobs", {"n": 3})
            assert ["idempotencyKey" in sent for sent in transport.sends] == [False]

    asyncio.run(main())


def test_an_engine_that_keeps_no_keys_gets_none_and_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rivetpy.engine.management.KEEPS_KEYS", "unsaid")

    async def main() -> None:
        async with test_engine(registry()) as t:
            transport, client = over(t, lost=1)
            with pytest.raises(RivetError, match="connection_lost"):
                await client.counter.get_or_create("main").send("jobs", {"n": 3}, wait=True)
            assert ["idempotencyKey" in sent for sent in transport.sends] == [False]

    asyncio.run(main())


@pytest.mark.parametrize("write", range(1, 5))
def test_an_engine_that_dies_in_between_is_not_seen(write: int) -> None:
    """The message, its receipt, the step, the answer: whichever was the last to be written."""

    async def main() -> None:
        async with test_engine(registry()) as t:
            counter = t.client.counter.get_or_create("main")
            await counter.getState()
            t.crash_after_write(write)
            sending = asyncio.create_task(counter.send("jobs", {"n": 3}, wait=True, timeout=60))
            with pytest.raises(Crashed):
                await t.advance(1)
            assert not sending.done()
            await t.restart()
            assert await sending == QueueReply("completed", {"total": 3})
            assert await counter.getState() == {"value": 3}

    asyncio.run(main())


# -- the command line --------------------------------------------------------------------------------------


def test_the_command_line_asks_again_too(monkeypatch: pytest.MonkeyPatch) -> None:
    exchange: Callable[..., Any] = PlainTransport._exchange
    errors = [LOST, FAILED, FAILED]
    keys: list[str] = []
    told: list[str] = []

    def losing(transport: PlainTransport, call: Call[Any]) -> Any:
        reply = exchange(transport, call)
        if "/queue/" in call.path:
            keys.append(json.loads(call.body or b"")["idempotencyKey"])
            if errors:
                raise error(errors.pop(0))
        return reply

    monkeypatch.setattr(PlainTransport, "_exchange", losing)
    with live(registry()) as engine:
        api = EngineApi(Endpoint("http", "127.0.0.1", engine.port))
        target = ByKey("counter", ("main",))
        reply = api.send(target, "jobs", QueueSend({"n": 3}, wait=True), lambda: told.append("away"))
        assert reply.response == {"total": 3}
        assert api.call(target, "getState", []) == {"value": 3}
        api.close()
    assert len(keys) == 4 and len(set(keys)) == 1 and told == ["away"]
