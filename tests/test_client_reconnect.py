"""The states of a client's connection: what opens it again, when, and what becomes of what was under way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rivetpy.client.reconnect import CHANGES, FIRST_PAUSE, LONGEST_PAUSE, Backoff, passes
from rivetpy.client.requests import ById
from rivetpy.errors import RivetError
from rivetpy.wire.messages import ActionRequest, ActionResponse, Failed, SubscriptionRequest
from tests.support.jump import run
from tests.support.lines import FAILED, LOST, ScriptLine, connected, turns

PASS = [
    *("actor.not_found", "actor.starting", "actor.stopping", "actor.stopped", "actor.not_configured"),
    *("actor.dropped_reply", "actor.destroying", "actor.destroyed_while_waiting_for_ready"),
    *("actor.restarting", "ws.going_away", "guard.service_unavailable", "guard.actor_ready_timeout"),
    *("guard.actor_runner_failed", "guard.actor_wake_retries_exceeded", "guard.actor_stopped_while_waiting"),
    *("guard.tunnel_request_aborted", "guard.tunnel_message_timeout", "guard.tunnel_response_closed"),
    *("pegboard.route_resolve_query_timeout",),
    *("guard.gateway_response_start_timeout", "client.connection_failed", "client.connection_lost"),
]
END = [
    *("user.unwanted", "auth.forbidden", "guard.query_invalid_params", "handler.not_defined"),
    *("client.connection_refused", "rivetkit.internal_error", "actor.unsupported_websocket_encoding"),
]


@pytest.mark.parametrize("name", [*PASS, *END])
def test_what_is_tried_again(name: str) -> None:
    error = RivetError(*name.split("."), "m")
    assert passes(error, by_id=False) == (name in PASS)
    assert passes(error, by_id=True) == (name in PASS and name != "actor.not_found")


def test_pauses_grow_up_to_a_limit() -> None:
    backoff = Backoff(lambda: 0)
    pauses = [backoff.next(at_once=False) for _ in range(9)]
    assert pauses == [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30]
    assert Backoff(lambda: 0.999).next(at_once=False) == pytest.approx(FIRST_PAUSE / 2, rel=0.01)
    backoff.connected(0.5)
    assert backoff.next(at_once=True) == LONGEST_PAUSE, (
        "a connection that breaks at once is no reason to hurry"
    )
    backoff.connected(5)
    assert [backoff.next(at_once=True) for _ in range(3)] == [0, 0.25, 0.5]


def test_an_engine_that_is_not_there_yet_is_tried_until_it_is() -> None:
    async def main() -> None:
        line = ScriptLine()
        async with connected(*[FAILED] * 5, line) as (connection, dialling):
            seen: list[str] = []
            connection.on_status_change(seen.append)
            await connection.opened()
            assert dialling.times == [0, 0.25, 0.75, 1.75, 3.75, 7.75]
            assert seen == [*["disconnected", "connecting"] * 5, "connected"]
            assert (connection.actor_id, connection.connection_id) == ("actor-id", "connection-id")

    run(main())


def test_a_connection_that_lasted_is_opened_again_at_once() -> None:
    async def main() -> None:
        first, second, third = ScriptLine(), ScriptLine(), ScriptLine()
        async with connected(first, FAILED, FAILED, second, third) as (connection, dialling):
            await connection.opened()
            await asyncio.sleep(5)
            first.tell(LOST)
            await asyncio.sleep(1)
            second.tell(LOST)
            await asyncio.sleep(10)
            assert dialling.times == [0, 5, 5.25, 5.75, 7]
            assert first.closed and second.closed and not third.closed

    run(main())


def test_a_refusal_ends_it() -> None:
    refused = RivetError("user", "unwanted", "not you")

    async def main() -> None:
        line = ScriptLine(silent=True)
        line.tell(Failed("user", "unwanted", "not you", {"who": 1}))
        async with connected(FAILED, line) as (connection, dialling):
            told: list[Any] = []
            connection.on_error(told.append)
            connection.on_close(lambda: told.append("closed"))
            waiting = asyncio.ensure_future(connection.action("add"))
            with pytest.raises(RivetError, match="not you"):
                await connection.opened()
            with pytest.raises(RivetError, match="not you") as raised:
                await waiting
            assert raised.value.metadata == {"who": 1}
            with pytest.raises(RivetError, match="not you"):
                await connection.add(1)
            assert connection.status == "closed" and line.closed
            assert told == [FAILED, raised.value, "closed"]
            await asyncio.sleep(1000)
            assert len(dialling.times) == 2
        async with connected(ScriptLine(), refused) as (connection, _):
            pass

    run(main())


def test_an_id_that_is_gone_is_not_waited_for() -> None:
    async def main() -> None:
        gone = RivetError("actor", "not_found", "m")
        async with connected(gone, target=ById("x")) as (connection, _):
            with pytest.raises(RivetError) as raised:
                await connection.opened()
            assert raised.value is gone

    run(main())


def test_what_was_under_way_fails_and_what_was_not_sent_goes_over_the_next_line() -> None:
    async def main() -> None:
        first, second = ScriptLine(), ScriptLine()
        async with connected(FAILED, first, FAILED, second) as (connection, _):
            connection.on("said", print)
            early = asyncio.ensure_future(connection.action("early", 1))
            await connection.opened()
            await turns()
            assert first.sent == [SubscriptionRequest("said", True), ActionRequest(0, "early", [1])]
            first.tell(ActionResponse(0, "done"))
            assert await early == "done"
            under_way = asyncio.ensure_future(connection.action("slow"))
            await turns()
            first.tell(RivetError("actor", "restarting", "m"))
            with pytest.raises(RivetError) as raised:
                await under_way
            error = raised.value
            assert (error.group, error.code, error.metadata) == (
                "client",
                "connection_lost",
                {"reason": "actor.restarting"},
            )
            assert "'slow'" in error.message
            later = [asyncio.ensure_future(connection.action("later", n)) for n in range(3)]
            await turns()
            later[1].cancel()
            await asyncio.sleep(3)
            assert second.sent == [
                SubscriptionRequest("said", True),
                ActionRequest(2, "later", [0]),
                ActionRequest(4, "later", [2]),
            ]
            second.tell(Failed("user", "no", "no", None, 4))
            second.tell(ActionResponse(2, None))
            second.tell(ActionResponse(99, "nobody asked"))
            assert await later[0] is None
            with pytest.raises(RivetError, match="no"):
                await later[2]

    run(main())


def test_what_can_not_be_written_fails_alone() -> None:
    async def main() -> None:
        line = ScriptLine()
        async with connected(line) as (connection, _):
            bad = asyncio.ensure_future(connection.action("a", "unwritable"))
            good = asyncio.ensure_future(connection.action("a", 1))
            with pytest.raises(RivetError, match="can't be written"):
                await bad
            line.tell(ActionResponse(1, 2))
            assert await good == 2

    run(main())


@pytest.mark.parametrize("moment", ["connecting", "connected", "disconnected"])
def test_closing(moment: str) -> None:
    async def main() -> None:
        line = ScriptLine(silent=moment == "connecting")
        async with connected(FAILED if moment == "disconnected" else line) as (connection, dialling):
            await turns()
            assert connection.status == moment
            waiting = asyncio.ensure_future(connection.action("add"))
            opening = asyncio.ensure_future(connection.opened())
            await turns()
            await asyncio.gather(connection.close(), connection.close())
            for ended in (waiting, opening) if moment != "connected" else (waiting,):
                with pytest.raises(RivetError) as raised:
                    await ended
                assert raised.value.code == "connection_closed"
            assert connection.status == "closed"
            assert line.closed == (moment != "disconnected")
            await asyncio.sleep(100)
            assert len(dialling.times) == 1

    run(main())


def test_parameters_are_asked_for_each_time() -> None:
    count = 0

    async def params() -> Any:
        nonlocal count
        count += 1
        if count == 2:
            raise ValueError("no token today")
        return {"n": count}

    async def main() -> None:
        line = ScriptLine()
        async with connected(FAILED, line, params=params) as (connection, dialling):
            told: list[RivetError] = []
            connection.on_error(told.append)
            await connection.opened()
            assert dialling.params == [{"n": 1}, {"n": 3}]
            assert told[1].code == "params_failed"
            assert "no token today" in told[1].message

    run(main())


def test_one_warning_for_many_attempts(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with connected(FAILED):
            await asyncio.sleep(100)

    with caplog.at_level("INFO", "rivetpy.client"):
        run(main())
    levels = [record.levelname for record in caplog.records]
    assert levels[0] == "WARNING" and set(levels[1:]) == {"INFO"}
    assert "counter/main" in caplog.text


def test_the_table_of_states_is_complete() -> None:
    assert all(following <= CHANGES.keys() for following in CHANGES.values())
    assert CHANGES["closed"] == frozenset()
