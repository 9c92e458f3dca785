"""Serving on a real socket: a graceful stop, a socket that outlives it, and errors at the start."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from rivetpy import RivetError
from rivetpy.client.endpoint import find_endpoint
from rivetpy.client.plain import PlainTransport
from rivetpy.client.requests import ByKey, Requests
from rivetpy.engine.app import create_app
from rivetpy.engine.handover import Handover
from rivetpy.engine.server import serve
from rivetpy.host import Host
from rivetpy.store.memory import MemoryStore
from rivetpy.wire.bodies import QueueSend
from tests.support.actors import registry
from tests.support.jump import run
from tests.support.live import Live, listening, live

TARGET = ByKey("counter", ("main",))


def calling(url: str, make: Callable[[Requests], Any]) -> Any:
    requests = Requests(find_endpoint(url))
    with PlainTransport(requests.endpoint, timeout=20) as transport:
        try:
            return transport.run(make(requests))
        except RivetError as error:
            return f"{error.group}.{error.code}"


class Caller(threading.Thread):
    """A call that is under way."""

    def __init__(self, url: str, make: Callable[[Requests], Any]) -> None:
        super().__init__()
        self._url, self._make = url, make
        self.start()

    def run(self) -> None:
        self.result = calling(self._url, self._make)

    def ended(self) -> Any:
        self.join(20)
        return self.result


def until_busy(engine: Live) -> None:
    """Until the engine has an actor in memory that has something to do."""
    for _ in range(500):
        if any(instance.busy for instance in list(engine.host._awake.values())):
            return
        time.sleep(0.01)
    raise AssertionError("no request arrived")


def test_a_stop_lets_an_action_finish_and_ends_the_wait_of_a_sender() -> None:
    with live(registry()) as engine:
        action = Caller(engine.url, lambda requests: requests.action(TARGET, "slow", [0.5]))
        until_busy(engine)
        other = ByKey("counter", ("other",))
        send = Caller(engine.url, lambda requests: requests.send(other, "idle", QueueSend(wait=True)))
        time.sleep(0.1)
        engine.stop()
        assert action.ended() == "done"
        assert send.ended() == "guard.tunnel_response_closed"


def test_the_grace_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    with live(registry(), grace=1) as engine:
        action = Caller(engine.url, lambda requests: requests.action(TARGET, "slow", [30]))
        until_busy(engine)
        before = time.monotonic()
        engine.stop()
        assert time.monotonic() - before < 15
        assert action.ended() == "guard.tunnel_response_closed"
    assert not caplog.records


def test_an_end_with_nothing_to_wait_for_takes_no_time() -> None:
    """A reload waits for it. The server's base looks ten times a second whether it is to end."""

    async def life() -> float:
        stop, started = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        with listening() as sock:
            app = create_app(Host(registry(), MemoryStore()))
            serving = asyncio.create_task(serve(app, sock, stop=stop, started=started))
            await started.wait()
            before = loop.time()
            stop.set()
            await serving
            return loop.time() - before

    assert run(life()) == 0


def test_the_socket_outlives_the_server() -> None:
    with listening() as sock:
        first = Live(registry(), sock)
        assert calling(first.url, lambda requests: requests.action(TARGET, "add", [1])) == 1
        first.stop()
        # Nobody serves now, but the port is open: a request waits in it for the next server.
        waiting = Caller(first.url, lambda requests: requests.action(TARGET, "add", [5]))
        second = Live(registry(), sock)
        assert waiting.ended() == 5
        second.stop()


HEALTH = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"


def whole(peer: socket.socket) -> bytes:
    """The next answer of a connection, which comes in pieces; nothing when it was closed."""
    answer = b""
    while not answer.endswith(b"}") and (data := peer.recv(65536)):
        answer += data
    return answer


@pytest.mark.parametrize("leaving", [True, False])
def test_idle_connections_go_to_the_next_server(leaving: bool) -> None:
    """One that was used, one that never was, and one whose request is half here: no client sees an error."""
    to_next, from_last = socket.socketpair()
    with listening() as sock, to_next, from_last:
        handover = Handover(to_next, from_last)
        first = Live(registry(), sock, handover=handover)
        used, new, half = (socket.create_connection(("127.0.0.1", first.port), timeout=20) for _ in range(3))
        used.sendall(HEALTH)
        assert whole(used).startswith(b"HTTP/1.1 200")
        half.sendall(HEALTH[:20])
        time.sleep(0.2)
        handover.leaving = leaving
        stopping = threading.Thread(target=first.stop)
        stopping.start()
        time.sleep(0.3)
        half.sendall(HEALTH[20:])
        answer = whole(half)
        assert answer.startswith(b"HTTP/1.1 200") and b"connection: close" in answer
        stopping.join(20)
        if leaving:
            handover.leaving = False
            used.sendall(HEALTH)
            new.sendall(HEALTH)
            second = Live(registry(), sock, handover=handover)
            answers = [whole(peer)[:12] for peer in (used, new)]
            assert answers == [b"HTTP/1.1 200"] * 2
            second.stop()
        assert [whole(peer) for peer in (used, new)] == [b"", b""]
        for peer in (used, new, half):
            peer.close()


def test_connections_send_without_delay() -> None:
    with live(registry()) as engine, socket.create_connection(("127.0.0.1", engine.port)) as peer:
        request = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"
        peer.sendall(request)
        assert peer.recv(65536).startswith(b"HTTP/1.1 200")
        assert engine._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_what_goes_wrong_at_the_start_is_raised() -> None:
    class Broken(Host):
        async def start(self) -> None:
            raise RivetError("store", "in_use", "another engine has it")

    async def main() -> None:
        with listening() as sock:
            await serve(create_app(Broken(registry(), MemoryStore())), sock)

    with pytest.raises(RivetError, match="another engine"):
        asyncio.run(main())


def test_signals_stay_with_the_caller_and_cancelling_stops() -> None:
    async def main() -> None:
        started = asyncio.Event()
        host = Host(registry(), MemoryStore())
        with listening() as sock:
            serving = asyncio.create_task(serve(create_app(host), sock, started=started))
            await started.wait()
            assert signal.getsignal(signal.SIGTERM) == before
            serving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await serving
        with pytest.raises(RivetError, match="stopping"):
            await host.get_or_create("default", "counter", ())

    before = signal.getsignal(signal.SIGTERM)
    asyncio.run(main())
