"""What a client may send and how long it may take, on a real port: everything has an end, and the engine stays well."""

from __future__ import annotations

import json
import logging
import resource
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from rivetpy import Registry, actor, event, setup
from rivetpy.engine import http
from rivetpy.engine.protocols import MAX_HEAD, MAX_HEADERS, MAX_LINE, MAX_PARTS, MAX_URL, Times
from tests.support.asgi import MADE
from tests.support.live import Live, live
from tests.support.wire import Raw, Wire, ending_all

QUICK = Times(head=0.4, rest=0.4, reading=0.4)
ECHO = f"/gateway/room/action/echo?{MADE}&rvt-key=main"


def registry() -> Registry:
    async def flood(c: Any, times: int) -> None:
        for _ in range(times):
            c.broadcast("news", "x" * 50_000)

    return setup(
        use={
            "room": actor(
                actions={"echo": lambda c, *args: list(args), "flood": flood}, events={"news": event()}
            )
        }
    )


@pytest.fixture(scope="module")
def engine() -> Iterator[Live]:
    with live(registry()) as running:
        yield running


@pytest.fixture(scope="module")
def strict() -> Iterator[Live]:
    """An engine without patience."""
    with live(registry(), times=QUICK) as running:
        yield running


@pytest.fixture(autouse=True)
def clients_end() -> Iterator[None]:
    with ending_all():
        yield


def get(path: str = "/health", *headers: str, host: str = "Host: localhost") -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", host, *headers, "", ""]).encode()


def post(path: str, *headers: str) -> bytes:
    return get(path, *headers).replace(b"GET", b"POST", 1)


def is_well(engine: Live) -> None:
    assert Raw(engine.port).send(get()).answer() == (200, "")


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (get(f"/health?{'a' * MAX_URL}"), (414, "guard.uri_too_long")),
        (get("/health", f"X-Long: {'a' * MAX_HEAD}"), (431, "guard.headers_too_long")),
        (get("/health", *[f"X-{n}: 1" for n in range(MAX_HEADERS)]), (431, "guard.headers_too_long")),
        (get("/health", *[f"X-{n}: {'a' * 3000}" for n in range(50)]), (431, "guard.headers_too_long")),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", (400, "guard.invalid_request")),
        (b"GET\r\n\r\n", (400, "guard.invalid_request")),
        (b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", (400, "guard.invalid_request")),
        (b"GET http://localhost HTTP/1.1\r\nHost: localhost\r\n\r\n", (400, "guard.invalid_request")),
        (get("/health", "Content-Length: 5", "Transfer-Encoding: chunked"), (400, "guard.invalid_request")),
        (get("/health", "Content-Length: 5", "Content-Length: 6"), (400, "guard.invalid_request")),
    ],
    ids=[
        "url",
        "header",
        "headers",
        "together",
        "tls",
        "no-http",
        "connect",
        "no-path",
        "two-framings",
        "two-lengths",
    ],
)
def test_heads_that_are_refused(engine: Live, request_: bytes, error: tuple[int, str]) -> None:
    raw = Raw(engine.port).send(request_)
    assert raw.answer() == error
    assert raw.ended()
    is_well(engine)


def test_a_head_that_never_ends_is_cut_off_where_it_is_too_long(engine: Live) -> None:
    raw = Raw(engine.port).send(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
    for _ in range(64):
        raw.send(b"a" * 65536)
    assert raw.ended()
    is_well(engine)


def test_as_much_as_is_allowed_is_served(engine: Live) -> None:
    path = f"/health?{'a' * (MAX_URL - 100)}"
    assert Raw(engine.port).send(get(path, *[f"X-{n}: 1" for n in range(MAX_HEADERS - 1)])).answer() == (
        200,
        "",
    )


@pytest.mark.parametrize(
    ("begin", "more"),
    [(b"GET /health HTTP/1.1\r\n", b"X: 1\r\n"), (get() + b"GET", b" "), (get() + b"\r\n", b"\r\n")],
    ids=["first", "second", "nothing"],
)
def test_a_head_that_comes_too_slowly(strict: Live, begin: bytes, more: bytes) -> None:
    raw = Raw(strict.port).send(begin)
    if begin.startswith(get()):
        assert raw.answer() == (200, "")
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(0.05):
            raw.send(more)

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        assert raw.answer() == (408, "guard.request_timeout")
        assert raw.ended()
    finally:
        stop.set()
        dripping.join()


def test_a_handshake_that_comes_too_slowly(strict: Live) -> None:
    raw = Raw(strict.port).send(b"GET /gateway/room/connect HTTP/1.1\r\nUpgrade: websocket\r\n")
    assert raw.answer() == (408, "guard.request_timeout")
    assert raw.ended()


def test_a_connection_that_says_nothing_is_ended(strict: Live) -> None:
    assert Raw(strict.port).ended()


def test_a_websocket_outlives_the_patience_for_its_head(strict: Live) -> None:
    wire = Wire(strict.port, f"/gateway/room/connect?{MADE}&rvt-key=main")
    assert wire.frame()[0] == 2
    assert Raw(strict.port).ended()  # as long as that takes, and a head may
    wire.send(b"still here", opcode=9)
    assert wire.frame() == (10, b"still here")


def test_a_body_that_comes_too_slowly(engine: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BODY_TIME", 0.3)
    raw = Raw(engine.port).send(post(ECHO, "Content-Length: 100") + b"{")
    assert raw.answer() == (408, "guard.request_timeout")


def test_an_endless_body_is_refused_and_then_not_taken_any_more(strict: Live) -> None:
    raw = Raw(strict.port).send(post(ECHO, "Transfer-Encoding: chunked"))
    chunk = b"10000\r\n" + b"a" * 65536 + b"\r\n"
    assert raw.send(chunk + chunk).answer() == (400, "message.incoming_too_long")
    while True:
        try:
            raw.sock.sendall(chunk)
        except OSError:
            break
    is_well(strict)


@pytest.mark.parametrize("end", [b"0\r\nX-Trailer: ", b"1;"], ids=["trailers", "extensions"])
def test_what_is_no_body_does_not_pile_up_behind_one(engine: Live, end: bytes) -> None:
    raw = Raw(engine.port).send(post(ECHO, "Transfer-Encoding: chunked") + b"2\r\n{}\r\n" + end)
    for _ in range(64):
        raw.send(b"a" * 65536)
    assert raw.ended()
    is_well(engine)


def test_trailers_are_no_headers(engine: Live) -> None:
    body = b'{"args":[1]}'
    chunked = b"%x\r\n%s\r\n0\r\nX-Rivet-Encoding: nonsense\r\n\r\n" % (len(body), body)
    assert Raw(engine.port).send(post(ECHO, "Transfer-Encoding: chunked") + chunked).answer() == (200, "")


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("http://localhost/metadata", 200),
        ("http://localhost.evil.com/metadata", 403),
        ("http://evil/metadata", 403),
    ],
)
def test_the_host_of_a_whole_url_counts(engine: Live, url: str, status: int) -> None:
    assert Raw(engine.port).send(get(url)).answer()[0] == status


@pytest.mark.parametrize(
    "headers",
    [
        ["Host: localhost.evil.com"],
        ["Host: localhost", "Host: evil.com"],
        ["Host: localhost", "Origin: http://localhost", "Origin: http://evil.com"],
        ["Host: [::1].evil.com"],
        ["Host: [::2]"],
        ["Host: localhost", "Origin: http://[::1].evil.com"],
        ["Host: localhost", "Origin: null"],
    ],
    ids=["longer", "two-hosts", "two-origins", "six", "other-six", "page-of-six", "no-page"],
)
def test_pages_that_only_point_here_are_kept_out_of_requests_and_websockets(
    engine: Live, headers: list[str]
) -> None:
    first, *others = headers
    assert Raw(engine.port).send(get("/metadata", *others, host=first)).answer() == (403, "auth.forbidden")
    wire = Wire(engine.port, f"/gateway/room/connect?{MADE}&rvt-key=main", host=first, headers=others)
    assert "400" in wire.status or wire.closed() == (1011, "auth.forbidden")


def test_six_is_this_machine_too(engine: Live) -> None:
    assert Raw(engine.port).send(get("/metadata", host="Host: [::1]:6420")).answer()[0] == 200


def test_lines_too_long_for_a_websocket_are_told(engine: Live) -> None:
    wire = Wire(engine.port, f"/gateway/room/connect?{MADE}&rvt-key={'k' * MAX_LINE}")
    assert "431" in wire.status


def test_a_message_in_too_many_parts(engine: Live) -> None:
    wire = Wire(engine.port, f"/gateway/room/connect?{MADE}&rvt-key=main")
    wire.frame()
    wire.send_all(b"\x02\x80" + bytes(4))
    wire.send_all((b"\x00\x80" + bytes(4)) * MAX_PARTS)
    assert wire.closed() == (1009, f"more than {MAX_PARTS} parts")


def test_many_small_messages_and_pings_are_all_answered(engine: Live) -> None:
    wire = Wire(engine.port, f"/gateway/room/connect?{MADE}&rvt-key=main", offer="rivet, rivet_encoding.json")
    wire.frame()
    for number in range(500):
        call = {"body": {"tag": "ActionRequest", "val": {"id": number, "name": "echo", "args": [number]}}}
        wire.send(json.dumps(call).encode(), opcode=1)
        wire.send(b"p", opcode=9)
    frames = [wire.frame() for _ in range(1000)]
    assert frames.count((10, b"p")) == 500
    told = [json.loads(data)["body"] for opcode, data in frames if opcode == 1]
    assert sorted(int(each["val"]["id"][1]) for each in told) == list(range(500))


def test_who_takes_no_answers_to_pings_makes_no_pile_and_is_let_go(strict: Live) -> None:
    wire = Wire(strict.port, f"/gateway/room/connect?{MADE}&rvt-key=main")
    ping = b"\x89\xfd" + bytes(4) + b"p" * 125
    with pytest.raises(OSError):
        while True:
            wire.send_all(ping * 1000)
    is_well(strict)


def test_who_takes_no_events_is_let_go(strict: Live) -> None:
    wire = Wire(strict.port, f"/gateway/room/connect?{MADE}&rvt-key=main", offer="rivet, rivet_encoding.json")
    wire.frame()
    subscribe = {"body": {"tag": "SubscriptionRequest", "val": {"eventName": "news", "subscribe": True}}}
    wire.send(json.dumps(subscribe).encode(), opcode=1)
    flood = {"body": {"tag": "ActionRequest", "val": {"id": 1, "name": "flood", "args": [400]}}}
    wire.send(json.dumps(flood).encode(), opcode=1)
    with pytest.raises(OSError):
        while True:
            wire.send_all(b"\x89\x80" + bytes(4))
    is_well(strict)


def test_a_token_has_every_form_on_a_real_port_and_is_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    token = "s3cret-._~"
    coded = "s3cret%2D._~"
    with caplog.at_level(logging.DEBUG), live(registry(), token=token, local_only=False) as engine:
        for headers in ([f"Authorization: Bearer {token}"], [f"X-Rivet-Token: {token}"]):
            assert (
                Raw(engine.port).send(get("/metadata", *headers, host="Host: far.example")).answer()[0] == 200
            )
        in_query = f"{MADE}&rvt-key=main&rvt-token={coded}"
        assert Raw(engine.port).send(
            post(f"/gateway/room/action/echo?{in_query}", "Content-Length: 2") + b"{}"
        ).answer() == (
            200,
            "",
        )
        path = f"/gateway/room/connect?{MADE}&rvt-key=main"
        for wire in (
            Wire(engine.port, f"/gateway/room/connect?{in_query}"),
            Wire(engine.port, path, headers=[f"X-Rivet-Token: {token}"]),
            Wire(engine.port, path, headers=[f"Authorization: Bearer {token}"]),
            Wire(engine.port, path, offer=f"rivet, rivet_encoding.bare, rivet_token.{token}"),
        ):
            assert wire.frame()[0] == 2
            wrong = Wire(engine.port, path, offer="rivet, rivet_encoding.bare, rivet_token.s3cre7")
        assert wrong.closed() == (1011, "auth.forbidden")
        assert (
            Raw(engine.port).send(get(f"/gateway/x@{coded}//nothing", f"X-Rivet-Token: {token}")).answer()[0]
            == 404
        )
        assert Raw(engine.port).send(get("/gateway/x@s3cret%zz/action/a")).answer()[0] == 400
    text = "\n".join(str(record.getMessage()) for record in caplog.records)
    assert "s3cre" not in text


@pytest.mark.parametrize(
    "path", ["/gateway/x@s3cret//nothing", "/gateway/x@s3cret%zz/y", "/gateway/x?rvt-token=s3cret%zz"]
)
def test_no_error_repeats_a_token(engine: Live, path: str) -> None:
    raw = Raw(engine.port).send(get(path, "Connection: close"))
    told = b""
    while more := raw.sock.recv(65536):
        told += more
    assert b"HTTP/1.1 40" in told
    assert b"s3cret" not in told


def test_without_room_new_connections_are_refused_and_that_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Files that somebody else opened count as well: what the engine itself needs stays free."""
    monkeypatch.setattr(resource, "getrlimit", lambda what: (400, 400))
    monkeypatch.setattr(resource, "setrlimit", lambda what, limits: None)
    held: list[socket.socket] = []
    with live(registry()) as engine:
        is_well(engine)
        while not held or held[-1].fileno() < 400:
            held.append(socket.socket())
        for _ in range(3):
            raw = Raw(engine.port)
            assert raw.answer() == (503, "guard.service_unavailable")
            assert raw.ended()
        for each in held:
            each.close()
        is_well(engine)
    told = [record.getMessage() for record in caplog.records if "ulimit" in record.getMessage()]
    assert len(told) == 1
