"""Without a server: where an endpoint comes from, what a URL looks like, and what is sent again."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from rivetpy.client.calls import Call, Reply
from rivetpy.client.endpoint import Endpoint, find_endpoint
from rivetpy.client.http import HttpTransport
from rivetpy.client.plain import PlainTransport
from rivetpy.client.requests import ById, ByKey, Requests
from rivetpy.errors import RivetError
from rivetpy.wire.bodies import QueueSend
from rivetpy.wire.encodings import BARE
from rivetpy.wire.jsonvalue import encode, parse
from rivetpy.wire.routes import ByKey as Routed
from rivetpy.wire.routes import parse as route
from tests.support.jump import run
from tests.support.live import listening


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RIVET_ENGINE", "RIVET_ENDPOINT", "RIVET_TOKEN", "RIVET_NAMESPACE", "RIVET_POOL"):
        monkeypatch.delenv(name, raising=False)


def test_endpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_endpoint() == Endpoint("http", "localhost", 6420)
    carried = find_endpoint("http://user%2Fns:sec%40ret@h/base/")
    assert carried == Endpoint("http", "h", 80, "/base", "user/ns", "sec@ret")
    assert carried.url == "http://h:80/base"
    assert find_endpoint("https://[::1]").url == "https://[::1]:443"
    monkeypatch.setenv("RIVET_ENDPOINT", "http://e:1")
    monkeypatch.setenv("RIVET_TOKEN", "t")
    monkeypatch.setenv("RIVET_NAMESPACE", "n")
    assert find_endpoint() == Endpoint("http", "e", 1, "", "n", "t")
    monkeypatch.setenv("RIVET_ENGINE", "http://first:1")
    monkeypatch.setenv("RIVET_POOL", "p")
    assert find_endpoint() == Endpoint("http", "first", 1, "", "n", "t", "p")
    monkeypatch.delenv("RIVET_ENGINE")
    monkeypatch.delenv("RIVET_POOL")
    assert find_endpoint("http://x:y@h:2", None, None) == Endpoint("http", "h", 2, "", "x", "y")
    assert find_endpoint("http://h:2", "a", "b") == Endpoint("http", "h", 2, "", "b", "a")
    assert "sec@ret" not in repr(carried)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("localhost:6420", "looks like"),
        ("ftp://h", "looks like"),
        ("http://", "looks like"),
        ("http://h:99999", "can't be used"),
        ("http://h?x=1", "no query"),
        ("http://h#x", "no query"),
        ("http://n:t@h", "twice"),
    ],
)
def test_endpoints_that_are_none(text: str, says: str) -> None:
    with pytest.raises(RivetError, match=says):
        find_endpoint(text, "token" if "@" in text else None)


def test_the_urls_of_the_specification() -> None:
    requests = Requests(Endpoint("http", "h", 1))
    call = requests.action(ByKey("counter", ("conn", "é b")), "a.b", [5])
    assert (call.method, call.body) == ("POST", b'{"args":[5]}')
    assert call.path == (
        "/gateway/counter/action/a.b?rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default"
        "&rvt-key=conn%2C%C3%A9+b&rvt-crash-policy=sleep"
    )
    with_token = Requests(Endpoint("http", "h", 1, "/base", "n/s", "to/k en"))
    got = with_token.send(ByKey("a/b", (), create=False), "q", QueueSend())
    assert got.path == ("/base/gateway/a%2Fb/queue/q?rvt-namespace=n%2Fs&rvt-method=get&rvt-token=to%2Fk+en")
    by_id = with_token.action(ById("abc"), "ping", [])
    assert by_id.path == "/base/gateway/abc@to%2Fk%20en/action/ping"
    assert by_id.headers["x-rivet-token"] == "to/k en"
    looked = with_token.inspect("abc", "queue", method="DELETE", query={"id": "3"})
    assert looked.path == "/base/actors/abc/inspector/queue?id=3&namespace=n%2Fs"
    assert looked.headers["authorization"] == "Bearer to/k en"
    found = with_token.resolve(ByKey("c", ("x", "y"), create=False))
    assert found.path == "/base/actors?name=c&key=x%2Fy&namespace=n%2Fs"
    assert found.headers["authorization"] == "Bearer to/k en"
    made = requests.create(ByKey("c", ("x",), input=[1]))
    assert made.body is not None
    assert parse(made.body) == {
        "name": "c",
        "key": "x",
        "runner_name_selector": "default",
        "crash_policy": "sleep",
        "input": "gQE=",
    }


def test_without_waiting_until_the_actor_is_ready() -> None:
    requests = Requests(Endpoint("http", "h", 1, "/base", token="t0k"), encoding=BARE, skip_ready_wait=True)
    target, by_id = ByKey("c", ("x",), create=False), ById("abc")
    query = "rvt-namespace=default&rvt-method=get&rvt-key=x&rvt-token=t0k&rvt-skip-ready-wait=true"
    got = requests.action(target, "ping", [])
    assert got.path == f"/base/gateway/c/action/ping?{query}"
    assert "x-rivet-target" not in got.headers
    assert requests.connect(target).path == f"/base/gateway/c/connect?{query}"
    assert requests.connect(target).subprotocols == ["rivet", "rivet_encoding.bare"]

    root = {"x-rivet-target": "actor", "x-rivet-actor": "abc", "x-rivet-skip-ready-wait": "1"}
    called, sent = requests.action(by_id, "ping", []), requests.send(by_id, "q", QueueSend())
    asked = requests.raw(by_id, "/x?y=1", httpx.Request("GET", "http://actor/"))
    paths = ["/base/gateway/abc@t0k/action/ping", "/base/gateway/abc@t0k/queue/q", "/base/request/x?y=1"]
    for made, path in zip((called, sent, asked), paths, strict=True):
        assert made.path == path
        assert made.headers.items() >= {**root, "x-rivet-token": "t0k"}.items()
    named = ["rivet_target.actor", "rivet_actor.abc", "rivet_skip_ready_wait", "rivet_token.t0k"]
    assert requests.connect(by_id).path == "/base/connect"
    assert requests.connect(by_id).subprotocols == ["rivet", "rivet_encoding.bare", *named]
    assert requests.websocket(by_id, "/w?x=1").path == "/base/websocket/w?x=1"


@pytest.mark.parametrize("key", [(), ("a",), ("a", ""), ("", "a"), ("a+b", "c&d=e", "%"), ("é", "/")])
def test_a_url_is_read_as_it_was_meant(key: tuple[str, ...]) -> None:
    path = Requests(Endpoint("http", "h", 1)).gateway_path(ByKey("n/é?#", key, input={"a": 1}), "/x", "u=1")
    raw, _, query = path.encode().partition(b"?")
    target = route(raw, query)
    assert target is not None
    assert target.actor == Routed("default", "n/é?#", key, create=True, input={"a": 1})
    assert target.query == b"u=1"


def test_a_key_without_a_form_in_a_url_is_never_sent_in_one() -> None:
    for key in (("a,b",), ("",), ("", ""), (",", "")):
        target = ByKey("c", key)
        if not target.fits_url:
            with pytest.raises(RivetError, match="resolve"):
                Requests(Endpoint("http", "h", 1)).gateway_path(target, "/x")
    assert not ByKey("c", ("a,b",)).fits_url
    assert not ByKey("c", ("",)).fits_url


def error(group: str, code: str, status: int = 503) -> tuple[int, bytes]:
    return status, encode({"group": group, "code": code, "message": "m"})


OK = (200, b'{"output":1}')
RESTARTING = error("actor", "restarting")
CUT = error("guard", "tunnel_response_closed")


class Script(HttpTransport):
    """Instead of asking anybody, answers requests one after the other; counts them."""

    def __init__(self, *answers: tuple[int, bytes] | RivetError) -> None:
        super().__init__(Endpoint("http", "h", 1))
        self.answers = list(answers)
        self.count = 0

    async def _exchange(self, call: Call[Any]) -> Reply:
        self.count += 1
        answer = self.answers.pop(0)
        if isinstance(answer, RivetError):
            raise answer
        return Reply(answer[0], (), answer[1])


LOST = RivetError("client", "connection_lost", "m")


def call(*, idempotent: bool) -> Call[Any]:
    return Call("POST", "/x", parse, b"{}", idempotent=idempotent)


@pytest.mark.parametrize(
    ("answers", "idempotent", "sent", "ends"),
    [
        ([RESTARTING, RESTARTING, OK], False, 3, None),
        ([RESTARTING] * 9, False, 8, "actor.restarting"),
        ([error("guard", "service_unavailable"), OK], False, 2, None),
        ([CUT, OK], False, 1, "guard.tunnel_response_closed"),
        ([CUT, OK], True, 2, None),
        ([LOST, OK], False, 1, "client.connection_lost"),
        ([LOST, OK], True, 2, None),
        ([RivetError("client", "connection_failed", "m"), OK], True, 1, "client.connection_failed"),
        ([error("actor", "not_found", 404), OK], True, 1, "actor.not_found"),
        ([error("user", "no", 500), OK], True, 1, "user.no"),
        ([(502, b"<html>")], True, 1, "rivetkit.internal_error"),
    ],
)
def test_only_what_is_safe_is_sent_again(
    answers: list[tuple[int, bytes] | RivetError], idempotent: bool, sent: int, ends: str | None
) -> None:
    script = Script(*answers)

    async def main() -> str | None:
        try:
            await script.run(call(idempotent=idempotent))
        except RivetError as raised:
            return f"{raised.group}.{raised.code}"
        return None

    assert run(main()) == ends
    assert script.count == sent


def test_back_off_begins_as_the_specification_says_and_lasts_a_restart() -> None:
    restarting = RivetError("actor", "restarting", "m")
    delays = [call(idempotent=False).retry_delay(restarting, tries) for tries in range(1, 9)]
    assert delays == [0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, None]


def test_a_send_is_idempotent_with_a_key() -> None:
    requests = Requests(Endpoint("http", "h", 1))
    target = ByKey("c", ())
    assert requests.send(target, "q", QueueSend(idempotency_key="k")).idempotent
    assert not requests.send(target, "q", QueueSend()).idempotent
    assert not requests.action(target, "a", []).idempotent
    assert not requests.create(target).idempotent


@pytest.mark.parametrize("body", [b"<html>", b"", b"[]", b"{}"])
def test_an_answer_that_is_none(body: bytes) -> None:
    made = Requests(Endpoint("http", "h", 1)).create(ByKey("c", ()))
    with pytest.raises(RivetError) as raised:
        made.result(Reply(200, (), body))
    assert (raised.value.group, raised.value.code) == ("client", "unreadable_answer")


def test_a_result_is_only_read_from_a_good_answer() -> None:
    with pytest.raises(RivetError) as raised:
        call(idempotent=False).result(Reply(503, [("x-rivet-ray-id", "r")], RESTARTING[1]))
    assert raised.value.ray_id == "r"


Turn = Callable[[socket.socket], None]


def plainly(endpoint: Endpoint, calls: int, idempotent: bool, pause: Callable[[], object]) -> list[Any]:
    results: list[Any] = []
    with PlainTransport(endpoint) as transport:
        for number in range(calls):
            if number:
                pause()
            try:
                results.append(transport.run(call(idempotent=idempotent)))
            except RivetError as raised:
                results.append(raised.code)
    return results


def asynchronously(
    endpoint: Endpoint, calls: int, idempotent: bool, pause: Callable[[], object]
) -> list[Any]:
    async def main() -> list[Any]:
        transport = HttpTransport(endpoint)
        results: list[Any] = []
        for number in range(calls):
            if number:
                pause()
            try:
                results.append(await transport.run(call(idempotent=idempotent)))
            except RivetError as raised:
                results.append(raised.code)
        await transport.close()
        return results

    return asyncio.run(main())


both_transports = pytest.mark.parametrize("carry", [plainly, asynchronously])


def exchange(
    carry: Any, *turns: Turn, idempotent: bool = False, calls: int = 1, apart: bool = False
) -> list[Any]:
    """What calls through one transport give, against a peer that takes these turns, one per connection.

    ``apart``: every call but the first waits until the peer has closed the connection before it.
    """
    closed = threading.Semaphore(0)

    def serve() -> None:
        for turn in turns:
            peer, _ = sock.accept()
            with peer:
                turn(peer)
            closed.release()

    def pause() -> None:
        assert not apart or closed.acquire(timeout=5)

    with listening() as sock:
        sock.settimeout(5)
        thread = threading.Thread(target=serve)
        thread.start()
        results: list[Any] = carry(
            Endpoint("http", "127.0.0.1", sock.getsockname()[1]), calls, idempotent, pause
        )
        thread.join(5)
        return results


def answering(*answers: tuple[int, bytes], extra: bytes = b"") -> Turn:
    def turn(peer: socket.socket) -> None:
        for status, body in answers:
            take_request(peer)
            head = b"HTTP/1.1 %d X\r\n%scontent-length: %d\r\n\r\n" % (status, extra, len(body))
            peer.sendall(head + body)

    return turn


def take_request(peer: socket.socket) -> None:
    """Head and body may come in pieces; the body of these calls is always the same."""
    peer.settimeout(5)
    received = b""
    while not received.endswith(b"\r\n\r\n{}"):
        received += peer.recv(65536)


def speaking(text: bytes) -> Turn:
    def turn(peer: socket.socket) -> None:
        take_request(peer)
        peer.sendall(text)

    return turn


@both_transports
def test_a_connection_is_kept(carry: Any) -> None:
    assert exchange(carry, answering(OK, OK, RESTARTING, OK), calls=3) == [{"output": 1}] * 3


@both_transports
def test_a_kept_connection_that_was_closed_is_noticed(carry: Any) -> None:
    assert exchange(carry, answering(OK), answering(OK), calls=2, apart=True) == [{"output": 1}] * 2
    closing = answering(OK, extra=b"connection: close\r\n")
    assert exchange(carry, closing, answering(OK), calls=2, apart=True) == [{"output": 1}] * 2


@both_transports
def test_what_may_have_run_is_repeated_only_when_safe(carry: Any) -> None:
    assert exchange(carry, take_request) == ["connection_lost"]
    assert exchange(carry, take_request, answering(OK), idempotent=True) == [{"output": 1}]


@both_transports
@pytest.mark.parametrize("text", [b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"])
def test_half_an_answer_is_none(carry: Any, text: bytes) -> None:
    assert exchange(carry, speaking(text)) == ["connection_lost"]


@both_transports
def test_an_answer_in_chunks(carry: Any) -> None:
    chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
    assert exchange(carry, speaking(b"HTTP/1.1 100 Continue\r\n\r\n" + chunked)) == [{}]
