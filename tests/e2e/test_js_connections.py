"""The official JavaScript client, unmodified: connections with events, also over restarts of the engine."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine import Engine, engine
from tests.support.js import ENCODINGS, FOLDER, Driver, act, driver, fails, installed, thing
from tests.support.live import Live, listening

pytestmark = pytest.mark.npm


def connect(js: Driver, conn: str, *, by: str = "getOrCreate", **options: Any) -> None:
    js("connect", conn=conn, handle=thing(js, conn, by=by, **options), events=["said"])


def call(js: Driver, conn: str, name: str, *args: Any) -> Any:
    return js("conn", conn=conn, name=name, args=list(args))


def test_actions_and_events(js: Driver) -> None:
    who = {"who": "mé"}
    connect(js, "talk", params=who)
    assert call(js, "talk", "add", 5) == 5
    assert call(js, "talk", "nested.deeper", 1, "ü") == [1, "ü"]
    assert call(js, "talk", "whoami") == who
    assert call(js, "talk", "shout", 1, {"x": "é"}) == 1
    act(js, thing(js, "talk"), "shout", "from elsewhere")
    assert js("events", conn="talk", count=2) == [["said", 1, {"x": "é"}], ["said", "from elsewhere"]]
    assert js("connSend", conn="talk", queue="jobs", body=2, options={"wait": True})["response"] == {"got": 2}
    js("unsubscribe", conn="talk", event="said")
    call(js, "talk", "shout", "to nobody")
    assert len(js("events", conn="talk", count=2)) == 2
    assert js("status", conn="talk", wanted="connected")["errors"] == []
    js("dispose", conn="talk")


@pytest.mark.parametrize(
    "value", ["null", "huge", "bytes", "int", "wide", "exact", "far", "tag", "text", "deep"]
)
def test_values(js: Driver, value: str) -> None:
    connect(js, f"value {value}")
    back = js("connEcho", conn=f"value {value}", value=value)
    assert back["same"], back["shown"]
    js("dispose", conn=f"value {value}")


def test_errors(js: Driver) -> None:
    connect(js, "errors")
    refused = fails(js, "conn", conn="errors", name="refuse", args=[])
    assert (refused.group, refused.code, refused.message) == ("user", "my_code", "user says nö")
    assert refused.metadata == {"big": 2, "x": {"0": 1}}
    unknown = fails(js, "conn", conn="errors", name="nope", args=[])
    assert (unknown.group, unknown.code) == ("actor", "action_not_found")
    crashed = fails(js, "conn", conn="errors", name="crash", args=[])
    assert (crashed.group, crashed.code) == ("rivetkit", "internal_error")
    much = fails(js, "conn", conn="errors", name="big", args=[1 << 20])
    assert (much.group, much.code) == ("message", "outgoing_too_long")
    assert call(js, "errors", "add", 1) == 1
    js("dispose", conn="errors")


def test_a_client_that_the_actor_refuses(js: Driver) -> None:
    connect(js, "refused", params={"who": "nöbody"})
    told = js("status", conn="refused", wanted="idle")
    assert told["errors"][0] == {"group": "user", "code": "unwanted", "message": "not you"}
    js("dispose", conn="refused")


def test_a_client_that_waits_for_its_actor(js: Driver) -> None:
    connect(js, "later", by="get")
    js("status", conn="later", wanted="disconnected")
    act(js, thing(js, "later"), "add", 1)
    js("status", conn="later", wanted="connected")
    assert call(js, "later", "add", 1) == 2
    js("dispose", conn="later")


def test_connections_stay_while_the_actor_sleeps(js: Driver) -> None:
    connect(js, "sleeper")
    assert call(js, "sleeper", "shout", "before") == 1
    call(js, "sleeper", "sleep")
    act(js, thing(js, "sleeper"), "shout", "after")
    assert js("events", conn="sleeper", count=2) == [["said", "before"], ["said", "after"]]
    assert js("status", conn="sleeper", wanted="connected")["statuses"] == ["connected"]
    js("dispose", conn="sleeper")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_clients_come_back_by_themselves_after_a_crash(
    js_engine: Engine, encoding: str, tmp_path: Path
) -> None:
    with driver(js_engine.url, encoding, tmp_path) as js:
        connect(js, "again")
        assert call(js, "again", "add", 1) == 1
        js_engine.kill_child()
        js("status", conn="again", wanted="connected", times=2)
        act(js, thing(js, "again"), "shout", "back")
        assert js("events", conn="again", count=1) == [["said", "back"]]
        assert call(js, "again", "add", 1) == 2


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_clients_move_to_the_next_engine_on_the_same_port(encoding: str, tmp_path: Path) -> None:
    installed()
    registry = runpy.run_path(str(FOLDER / "registry.py"))["registry"]
    with listening() as sock:
        first = Live(registry, sock)
        with driver(first.url, encoding, tmp_path) as js:
            connect(js, "moved")
            assert call(js, "moved", "add", 1) == 1
            first.stop()
            second = Live(registry, sock)
            try:
                told = js("status", conn="moved", wanted="connected", times=2)
                assert told["errors"][0]["group"] == "actor" and told["errors"][0]["code"] == "restarting"
                act(js, thing(js, "moved"), "shout", "here")
                assert js("events", conn="moved", count=1) == [["said", "here"]]
            finally:
                second.stop()


def test_a_connection_survives_a_reload(tmp_path: Path) -> None:
    (tmp_path / "js").mkdir()
    file = tmp_path / "registry.py"
    source = (FOLDER / "registry.py").read_text()
    file.write_text(source)
    with engine(file, tmp_path / "data") as running, driver(running.url, "bare", tmp_path / "js") as js:
        running.process.wait_for("Ctrl-C")
        connect(js, "reloaded")
        assert call(js, "reloaded", "add", 1) == 1
        file.write_text(f"{source}\n# saved\n")
        running.process.wait_for("rivet: reloaded in ")
        js("status", conn="reloaded", wanted="connected", times=2)
        act(js, thing(js, "reloaded"), "shout", "new")
        assert js("events", conn="reloaded", count=1) == [["said", "new"]]
        assert call(js, "reloaded", "add", 1) == 2
