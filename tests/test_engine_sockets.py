"""WebSockets on a real port, byte for byte: the handshake, close frames with reasons, messages that are too long."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator

import pytest

from rivetpy import Registry, actor, setup
from rivetpy.wire.encodings import BARE
from rivetpy.wire.messages import TO_CLIENT, TO_SERVER, ActionRequest, ActionResponse, Init
from tests.support.asgi import MADE
from tests.support.live import Live, live

PATH = f"/gateway/room/connect?{MADE}&rvt-key=main"


def registry() -> Registry:
    return setup(use={"room": actor(actions={"echo": lambda c, *args: list(args)})})


class Wire:
    """A client that does only what it is told."""

    def __init__(
        self, port: int, path: str = PATH, *, offer: str | None = "rivet, rivet_encoding.bare"
    ) -> None:
        self._sock = socket.create_connection(("127.0.0.1", port), timeout=20)
        self._rest = b""
        lines = [
            f"GET {path} HTTP/1.1",
            "Host: localhost",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
        ]
        if offer is not None:
            lines.append(f"Sec-WebSocket-Protocol: {offer}")
        self._sock.sendall("\r\n".join([*lines, "", ""]).encode())
        while b"\r\n\r\n" not in self._rest:
            self._rest += self._sock.recv(65536)
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        self.status, *headers = head.decode().split("\r\n")
        self.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in headers)}

    def _take(self, size: int) -> bytes:
        while len(self._rest) < size:
            more = self._sock.recv(65536)
            assert more, "the connection ended"
            self._rest += more
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken

    def frame(self) -> tuple[int, bytes]:
        """Opcode and payload of the next frame."""
        first, size = self._take(2)
        if size > 125:
            size = int.from_bytes(self._take(2 if size == 126 else 8))
        return first & 0x0F, self._take(size)

    def closed(self) -> tuple[int, str]:
        """Code and reason of the close frame, which must be the next; the ray id left out."""
        opcode, payload = self.frame()
        assert opcode == 8
        return struct.unpack(">H", payload[:2])[0], payload[2:].decode().partition("#")[0]

    def send(self, payload: bytes, opcode: int = 2) -> None:
        """Send one frame, masked with zeros."""
        size = len(payload)
        length = bytes([0x80 | size]) if size < 126 else b"\xff" + struct.pack(">Q", size)
        with contextlib.suppress(OSError):  # the server may have closed already
            self._sock.sendall(bytes([0x80 | opcode]) + length + bytes(4) + payload)

    def end(self) -> None:
        self._sock.close()


@pytest.fixture
def engine() -> Iterator[Live]:
    with live(registry()) as running:
        yield running


@pytest.mark.parametrize("offer", ["rivet, rivet_encoding.bare", "rivet_encoding.bare,rivet"])
def test_a_connection(engine: Live, offer: str) -> None:
    wire = Wire(engine.port, offer=offer)
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
    wire.end()


def test_the_protocol_is_named_though_nobody_asked(engine: Live) -> None:
    wire = Wire(engine.port, offer=None)
    assert wire.headers["sec-websocket-protocol"] == "rivet"
    assert wire.frame()[0] == 1  # JSON
    wire.end()


def test_refusals_are_told_in_a_close_frame(engine: Live) -> None:
    for path, reason in (
        (PATH.replace("room", "rom"), "actor.not_configured"),
        ("/gateway/nobody/connect", "actor.not_found"),
        ("/elsewhere", "guard.no_route"),
    ):
        wire = Wire(engine.port, path)
        assert "101" in wire.status
        assert wire.closed() == (1011, reason)
        wire.end()


@pytest.mark.parametrize("size", [70_000, 2 * 1024 * 1024])
def test_messages_that_are_too_long(engine: Live, size: int) -> None:
    wire = Wire(engine.port)
    wire.frame()
    wire.send(bytes(size))
    code, reason = wire.closed()
    assert (code, reason) == (1011, "message.incoming_too_long") if size < 1 << 20 else code == 1009
    wire.end()


def test_a_stop_tells_clients_to_come_back() -> None:
    with live(registry()) as engine:
        wire = Wire(engine.port)
        wire.frame()
        engine.stop()
        assert wire.closed() == (1011, "actor.restarting")
        wire.end()
