"""What is nearly right, or wrong altogether, gets an answer or a clean end: no crash, no hang, no pile of memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import resource
import socket
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivetpy.engine.protocols import Times
from rivetpy.errors import RivetError
from rivetpy.wire import bodies, handshake, inputs, routes
from rivetpy.wire.encodings import BARE, CBOR, JSON
from rivetpy.wire.messages import TO_CLIENT, TO_SERVER, ActionRequest, SubscriptionRequest
from tests.support.actors import registry
from tests.support.asgi import MADE, Client, serving
from tests.support.jump import run
from tests.support.live import Live, live
from tests.support.mutate import mutated

ENCODINGS = {"json": JSON, "cbor": CBOR, "bare": BARE}
VALUES = [None, 1, -(2**70), 1.5, "é", b"\0\xff", [1, [2, {"a": None}]], {"$x": ["$Set", 1]}, {1, 2}]
MESSAGES = [ActionRequest(7, "echo", VALUES), SubscriptionRequest("news", True)]
PLAIN = f"/gateway/counter/action/add?{MADE}&rvt-key=main"
RAW = [
    f"GET {PLAIN} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(),
    b'POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\n{"args":[1]}' % PLAIN.encode(),
    b'POST %s HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n{"args":[1]}\r\n0\r\n\r\n'
    % PLAIN.encode(),
    b"GET /metadata HTTP/1.1\r\nHost: localhost\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"OPTIONS /actors HTTP/1.1\r\nHost: localhost\r\nAccess-Control-Request-Method: PUT\r\n\r\n",
]
HANDSHAKE = (
    f"GET /gateway/counter/connect?{MADE}&rvt-key=main HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Sec-WebSocket-Protocol: rivet, rivet_encoding.%s\r\n\r\n"
)
PIECES = [b"/inspector/state", b"/queue/jobs", b"/request/x", b"&rvt-token=a"]


def frame(payload: bytes, opcode: int) -> bytes:
    """A masked frame of a WebSocket."""
    size = len(payload)
    length = bytes([0x80 | size]) if size < 126 else b"\xfe" + size.to_bytes(2)
    return bytes([0x80 | opcode]) + length + bytes(4) + payload


def conversations() -> list[bytes]:
    """Whole WebSocket connections as bytes."""
    found = []
    for name, encoding in ENCODINGS.items():
        said = [
            frame(encoding.write_union(TO_SERVER, each), 1 if encoding.is_text else 2) for each in MESSAGES
        ]
        found.append((HANDSHAKE % name).encode() + b"".join(said) + frame(b"x", 9) + frame(b"\x03\xe8", 8))
    return found


@pytest.fixture(scope="module")
def engine() -> Iterator[Live]:
    with live(registry(), times=Times(head=0.2, rest=0.2, reading=0.5)) as running:
        yield running


def throw(engine: Live, data: bytes) -> None:
    """Send it, and take what comes until the engine is silent or ends it."""
    sock = socket.create_connection(("127.0.0.1", engine.port), timeout=20)
    with contextlib.closing(sock), contextlib.suppress(OSError):
        sock.sendall(data)
        sock.settimeout(0.02)
        while sock.recv(65536):
            pass


def is_well(engine: Live) -> None:
    with contextlib.closing(socket.create_connection(("127.0.0.1", engine.port), timeout=60)) as sock:
        sock.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")


def no_crash(caplog: pytest.LogCaptureFixture) -> None:
    crashed = [r.getMessage() for r in caplog.records if r.exc_info or "ASGI" in r.getMessage()]
    assert not crashed, crashed[0]


def fuzz_the_port(engine: Live, caplog: pytest.LogCaptureFixture, seed: int, rounds: int) -> None:
    rng = Random(seed)
    known = [*RAW, *conversations()]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with caplog.at_level(logging.WARNING):
        for number in range(rounds):
            throw(engine, mutated(rng, rng.choice(known), known))
            if number % 100 == 99:
                is_well(engine)
                no_crash(caplog)
                caplog.clear()
        is_well(engine)
        no_crash(caplog)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 100_000, f"{grown} KB more than before"


def test_a_port(engine: Live, caplog: pytest.LogCaptureFixture) -> None:
    fuzz_the_port(engine, caplog, seed=1, rounds=100)


@pytest.mark.long
def test_a_port_for_minutes(engine: Live, caplog: pytest.LogCaptureFixture) -> None:
    seed = Random().randrange(1 << 32)
    print(f"seed {seed}")
    fuzz_the_port(engine, caplog, seed, rounds=5_000)


async def ask(client: Client, rng: Random) -> None:
    """One request whose path, query, headers and body are each right or nearly so."""
    path, _, query = PLAIN.partition("?")

    def maybe(data: bytes) -> bytes:
        return mutated(rng, data, PIECES) if rng.random() < 0.4 else data

    encoding = rng.choice([*ENCODINGS, "nonsense"])
    body: bytes = maybe(json.dumps({"args": [1], "body": 1, "wait": False}).encode())
    start: dict[str, Any] = {}
    scope = {
        "type": "http",
        "method": rng.choice(["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "X"]),
        "path": "/",
        "raw_path": maybe(
            rng.choice([path, "/actors", "/actors/names", "/metadata", "/gateway/x@y/z"]).encode()
        ),
        "query_string": maybe(
            rng.choice([query, "namespace=default&limit=1", "rvt-namespace=default"]).encode()
        ),
        "root_path": "",
        "headers": [
            (b"host", b"localhost"),
            (b"x-rivet-encoding", maybe(encoding.encode())),
            (b"x-rivet-conn-params", maybe(b'{"who":1}')),
            (b"x-rivet-target", rng.choice([b"actor", b""])),
            (b"x-rivet-actor", maybe(b"someone")),
        ],
    }
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        start.setdefault("status", message.get("status"))

    await asyncio.wait_for(client.app(scope, receive, send), 100)
    assert start["status"] < 500 or start["status"] == 503, (scope, body)


@pytest.mark.parametrize("rounds", [500, pytest.param(50_000, marks=pytest.mark.long)])
def test_the_application(rounds: int, caplog: pytest.LogCaptureFixture) -> None:
    rng = Random(rounds)

    async def main() -> None:
        async with serving(registry()) as client:
            for _ in range(rounds):
                await ask(client, rng)

    with caplog.at_level(logging.WARNING):
        run(main())
    no_crash(caplog)


@pytest.mark.parametrize("rounds", [3000, pytest.param(300_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ENCODINGS)
def test_messages_of_a_socket(name: str, rounds: int) -> None:
    encoding, rng = ENCODINGS[name], Random(rounds)
    known = [encoding.write_union(TO_SERVER, each) for each in MESSAGES]
    for _ in range(rounds):
        data = mutated(rng, rng.choice(known), known)
        for union in (TO_SERVER, TO_CLIENT):
            with contextlib.suppress(RivetError):
                encoding.read_union(union, data)


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=200), st.binary(max_size=200))
def test_paths_and_queries(path: bytes, query: bytes) -> None:
    for prefix in (b"", b"/gateway/", b"/gateway/counter/action/add"):
        with contextlib.suppress(RivetError):
            routes.parse(prefix + path, MADE.encode() + b"&" + query)
        with contextlib.suppress(RivetError):
            routes.parse(prefix + path, query)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.text(max_size=80), max_size=5), st.text(max_size=200))
def test_offers_and_inputs(offered: list[str], text: str) -> None:
    offer = handshake.read_offer([*offered, *(f"rivet_conn_params.{each}" for each in offered)])
    for reading in (offer.params, offer.message_encoding, lambda: inputs.read_input(text)):
        with contextlib.suppress(RivetError):
            reading()


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=300), st.sampled_from(sorted(ENCODINGS)))
def test_bodies(data: bytes, name: str) -> None:
    kind = bodies.bodies_for(name)
    for reading in (kind.read_args, lambda body: kind.read_send(body, None)):
        with contextlib.suppress(RivetError):
            reading(data)
