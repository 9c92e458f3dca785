"""WebSockets on a real port, byte for byte: the handshake, close frames with reasons, messages that are too long."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

from rivetpy import Registry, actor, setup
from rivetpy.wire.encodings import BARE
from rivetpy.wire.messages import TO_CLIENT, TO_SERVER, ActionRequest, ActionResponse, Init
from tests.support.asgi import MADE
from tests.support.live import Live, live
from tests.support.wire import Wire, ending_all

PATH = f"/gateway/room/connect?{MADE}&rvt-key=main"


def registry() -> Registry:
    return setup(use={"room": actor(actions={"echo": lambda c, *args: list(args)})})


@pytest.fixture
def engine() -> Iterator[Live]:
    with live(registry()) as running, ending_all():
        yield running


@pytest.mark.parametrize("offer", ["rivet, rivet_encoding.bare", "rivet_encoding.bare,rivet"])
def test_a_connection(engine: Live, offer: str) -> None:
    wire = Wire(engine.port, PATH, offer=offer)
    assert wire.status == "HTTP/1.1 101 Switching Protocols"
    assert wire.headers["sec-websocket-protocol"] == "rivet"
    assert "sec-websocket-extensions" not in wire.headers
    opcode, data = wire.frame()
    assert opcode == 2
    assert isinstance(BARE.read_union(TO_CLIENT, data), Init)
    wire.send(BARE.write_union(TO_SERVER, ActionRequest(3, "echo", ["é"])))
    assert BARE.read_union(TO_CLIENT, wire.frame()[1]) == ActionResponse(3, ["é"])
    wire.send(b"ping", opcode=9)
    assert wire.frame() == (10, b"ping")
    wire.send(struct.pack(">H", 1000) + b"Disposed", opcode=8)
    assert wire.closed() == (1000, "Disposed")


def test_the_protocol_is_named_though_nobody_asked(engine: Live) -> None:
    wire = Wire(engine.port, PATH, offer=None)
    assert wire.headers["sec-websocket-protocol"] == "rivet"
    assert wire.frame()[0] == 1  # JSON


def test_refusals_are_told_in_a_close_frame(engine: Live) -> None:
    for path, reason in (
        (PATH.replace("room", "rom"), "actor.not_configured"),
        ("/gateway/nobody/connect", "actor.not_found"),
        ("/elsewhere", "guard.no_route"),
    ):
        wire = Wire(engine.port, path)
        assert "101" in wire.status
        assert wire.closed() == (1011, reason)


@pytest.mark.parametrize("size", [70_000, 2 * 1024 * 1024])
def test_messages_that_are_too_long(engine: Live, size: int) -> None:
    wire = Wire(engine.port, PATH)
    wire.frame()
    wire.send(bytes(size))
    code, reason = wire.closed()
    assert (code, reason) == (1011, "message.incoming_too_long") if size < 1 << 20 else code == 1009


def test_a_stop_tells_clients_to_come_back() -> None:
    with live(registry()) as engine, ending_all():
        wire = Wire(engine.port, PATH)
        wire.frame()
        engine.stop()
        assert wire.closed() == (1011, "actor.restarting")
