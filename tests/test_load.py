"""Many clients at once: each is connected, each gets every event, in order, and one that goes is no loss to others."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from rivetpy import Registry, actor, event, setup
from rivetpy.wire.encodings import BARE
from rivetpy.wire.messages import (
    TO_CLIENT,
    TO_SERVER,
    ActionRequest,
    ActionResponse,
    Event,
    SubscriptionRequest,
)
from tests.support.asgi import MADE
from tests.support.live import Live, live
from tests.support.wire import Wire, ending_all

ROUNDS = 5


def registry() -> Registry:
    def shout(c: Any, number: int) -> int:
        c.broadcast("said", number)
        return len(c.conns)

    return setup(use={"room": actor(actions={"shout": shout}, events={"said": event()})})


@pytest.fixture
def engine() -> Iterator[Live]:
    with live(registry()) as running, ending_all():
        yield running


def room_for(files: int) -> None:
    """Let this process have so many open files, or skip."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < files:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, max(files, hard)))
            return
        pytest.skip(f"this process may have {soft} open files, and {files} are needed")


def member(engine: Live) -> Wire:
    """One who is connected and has subscribed: an action is answered after what was said before it."""
    wire = Wire(engine.port, f"/gateway/room/connect?{MADE}&rvt-key=main")
    wire.message()
    wire.send(BARE.write_union(TO_SERVER, SubscriptionRequest("said", True)))
    wire.send(BARE.write_union(TO_SERVER, ActionRequest(1, "nothing", [])))
    wire.message()
    return wire


def shout(engine: Live, number: int) -> int:
    url = f"{engine.url}/gateway/room/action/shout?{MADE}&rvt-key=main"
    told: int = httpx.post(url, json={"args": [number]}, timeout=120).json()["output"]
    return told


@pytest.mark.parametrize("clients", [50, pytest.param(1000, marks=pytest.mark.long)])
def test_a_broadcast_to_all(engine: Live, clients: int) -> None:
    room_for(2 * clients + 300)
    everybody = [member(engine) for _ in range(clients)]
    assert shout(engine, 0) == clients + 1  # with the one who shouts, over HTTP
    for number in range(1, ROUNDS):
        shout(engine, number)
    for each in everybody:
        heard = [BARE.read_union(TO_CLIENT, each.message()) for _ in range(ROUNDS)]
        assert heard == [Event("said", [number]) for number in range(ROUNDS)]
    for each in everybody[::2]:
        each.send(b"\x03\xe8", opcode=8)
        each.message()
    rest = everybody[1::2]
    shout(engine, ROUNDS)
    for each in rest:
        assert BARE.read_union(TO_CLIENT, each.message()) == Event("said", [ROUNDS])
    rest[0].send(BARE.write_union(TO_SERVER, ActionRequest(2, "shout", [99])))
    heard = [BARE.read_union(TO_CLIENT, rest[0].message()) for _ in range(2)]
    assert any(isinstance(each, ActionResponse) for each in heard)
