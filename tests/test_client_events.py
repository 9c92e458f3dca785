"""What a client's connection hears: listeners, iterators, and that only what somebody listens to is subscribed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rivetpy.client import listeners
from rivetpy.errors import RivetError
from rivetpy.wire.messages import Event, SubscriptionRequest
from tests.support.jump import run
from tests.support.lines import FAILED, LOST, ScriptLine, connected, turns


def test_listeners_and_what_is_subscribed() -> None:
    async def main() -> None:
        line = ScriptLine()
        async with connected(line) as (connection, _):
            await connection.opened()
            got: list[Any] = []
            stop = connection.on("a", lambda *args: got.append(args))
            again = connection.on("a", lambda *args: got.append(args))
            connection.once("b", got.append)
            await turns()
            assert line.sent == [SubscriptionRequest("a", True), SubscriptionRequest("b", True)]
            line.sent.clear()
            line.tell(Event("a", [1, 2]))
            line.tell(Event("b", ["once"]))
            line.tell(Event("b", ["twice"]))
            line.tell(Event("nobody", []))
            await turns()
            assert got == [(1, 2), (1, 2), "once"]
            stop()
            stop()
            again()
            await turns()
            assert line.sent == [SubscriptionRequest("b", False), SubscriptionRequest("a", False)]

    run(main())


def test_what_a_listener_raises_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        line = ScriptLine()
        async with connected(line) as (connection, _):
            got: list[str] = []

            def bad(word: str) -> None:
                raise ValueError(f"bad {word}")

            async def later(word: str) -> None:
                await asyncio.sleep(1)
                got.append(word)
                raise ValueError(f"late {word}")

            for listener in (bad, later, got.append):
                connection.on("a", listener)
            await connection.opened()
            line.tell(Event("a", ["x"]))
            await asyncio.sleep(2)
            assert got == ["x", "x"]

    run(main())
    assert "bad x" in caplog.text and "late x" in caplog.text


def test_an_iterator_goes_on_over_a_break_and_ends_with_the_connection() -> None:
    async def main() -> None:
        first, second = ScriptLine(), ScriptLine()
        async with connected(first, second) as (connection, _):
            await connection.opened()
            events = connection.events("a", "b")

            async def listen() -> list[Any]:
                return [(event.name, event.args) async for event in events]

            listening = asyncio.ensure_future(listen())
            first.tell(Event("a", [1]))
            first.tell(LOST)
            await asyncio.sleep(5)
            assert second.sent == [SubscriptionRequest("a", True), SubscriptionRequest("b", True)]
            second.tell(Event("b", [2]))
            await turns()
            await connection.close()
            assert await listening == [("a", [1]), ("b", [2])]

    run(main())


def test_an_iterator_tells_of_a_refusal() -> None:
    refused = RivetError("user", "unwanted", "not you")

    async def main() -> None:
        async with connected(FAILED, refused) as (connection, _):
            with pytest.raises(RivetError) as raised:
                await anext(connection.events("a"))
            assert raised.value is refused

    run(main())


def test_an_iterator_that_is_closed_listens_no_more() -> None:
    async def main() -> None:
        line = ScriptLine()
        async with connected(line) as (connection, _):
            await connection.opened()
            async with connection.events("a") as events:
                line.tell(Event("a", [1]))
                await turns()
            await turns()
            assert line.sent == [SubscriptionRequest("a", True), SubscriptionRequest("a", False)]
            assert [event.args async for event in events] == [[1]], "what came before is still there"

    run(main())


def test_events_that_nobody_reads_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "MAX_WAITING", 3)

    async def main() -> None:
        line = ScriptLine()
        async with connected(line) as (connection, _):
            await connection.opened()
            events = connection.events("a")
            for n in range(5):
                line.tell(Event("a", [n]))
            await turns()
            assert [(await anext(events)).args for _ in range(3)] == [[0], [1], [2]]
            with pytest.raises(RivetError) as raised:
                await anext(events)
            assert raised.value.code == "events_missed"

    run(main())
