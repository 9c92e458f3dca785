"""The synchronous twin of the client: the same objects without asyncio, from threads, in forks, and at Ctrl-C."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from rivetpy import Registry, RivetError
from rivetpy.client import Connection, Handle, SyncConnection, SyncHandle, create_client, create_sync_client
from rivetpy.client.handles import Actors, Client
from rivetpy.client.portal import Portal
from rivetpy.client.sync import SyncActors, SyncClient
from tests.support.engine import ROOT, environment
from tests.support.live import Live, live


@pytest.fixture(scope="module")
def engine() -> Iterator[Live]:
    registry: Registry = runpy.run_path(str(ROOT / "tests" / "js" / "registry.py"))["registry"]
    with live(registry) as running:
        yield running


@pytest.fixture
def client(engine: Live) -> Iterator[SyncClient]:
    with create_sync_client(engine.url) as opened:
        yield opened


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize(
    ("original", "twin"),
    [(Client, SyncClient), (Actors, SyncActors), (Handle, SyncHandle), (Connection, SyncConnection)],
    ids=["client", "actors", "handle", "connection"],
)
def test_a_twin_has_what_the_original_has(original: type, twin: type) -> None:
    def public(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert public(twin) >= public(original)
    for name in public(original) & public(twin) - {"close", "websocket"}:
        if inspect.isfunction(function := getattr(original, name)):
            assert list(inspect.signature(getattr(twin, name)).parameters) == list(
                inspect.signature(function).parameters
            )
    assert inspect.signature(create_sync_client).parameters == inspect.signature(create_client).parameters


def test_calls_queues_and_handles(client: SyncClient) -> None:
    handle = client.thing.get_or_create("sync", input={"n": 1}, params={"who": "mé"})
    assert handle.add(5) == 5
    assert handle.action("add", 1) == 6
    assert handle.given() == {"n": 1}
    assert handle.whoami() == {"who": "mé"}
    assert handle.send("jobs", 1) is None
    reply = handle.send("jobs", {"n": 2}, wait=True)
    assert reply is not None and reply.response == {"got": {"n": 2}}
    assert client.thing.get_for_id(handle.resolve()).add(1) == 7
    assert client.actor("thing").get("sync").add(1) == 8
    assert client.thing.create("made").add(2) == 2
    with pytest.raises(RivetError, match="user says nö"):
        handle.refuse()
    assert handle.fetch("/x", "POST", content="b").json()["body"] == "b"
    with handle.websocket("/sub?x=1") as ws:
        assert ws.recv() == "/websocket/sub?x=1 {'who': 'mé'}"
        ws.send("hey")
        assert next(ws) == "HEY"


def test_connections_and_events(client: SyncClient) -> None:
    handle = client.thing.get_or_create("sync events")
    heard: list[Any] = []
    with handle.connect() as conn:
        stop = conn.on("said", lambda word: heard.append((word, conn.add(1))))  # may wait, unlike asyncio's
        events = conn.events("said")
        conn.shout("one")
        handle.shout("two")
        assert [next(events).args for _ in range(2)] == [["one"], ["two"]]
        until(lambda: len(heard) == 2)
        assert heard == [("one", 1), ("two", 2)]
        stop()
        events.close()
        conn.shout("to nobody")
        assert conn.status == "connected" and conn.actor_id == handle.resolve()
        statuses: list[str] = []
        conn.on_status_change(statuses.append)
    until(lambda: statuses == ["closed"])
    until(lambda: not any(thread.name == "rivetpy-listeners" for thread in threading.enumerate()))
    assert heard[2:] == []
    assert list(events) == []
    with pytest.raises(RivetError) as closed:
        conn.add(1)
    assert closed.value.code == "connection_closed"
    with (
        pytest.raises(RivetError, match="not you"),
        client.thing.get_or_create("x", params={"who": "nöbody"}).connect(),
    ):
        pass


def test_many_threads_share_a_client(client: SyncClient) -> None:
    handle = client.thing.get_or_create("threads")
    with handle.connect() as conn, ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda n: (handle if n % 2 else conn).add(1), range(100)))
    assert handle.add(0) == 100


def test_closing_ends_what_other_threads_wait_for(engine: Live) -> None:
    client = create_sync_client(engine.url)
    errors: list[RivetError] = []

    def wait() -> None:
        with pytest.raises(RivetError) as raised:
            client.thing.get_or_create("closing").send("ignored", 1, wait=True)
        errors.append(raised.value)

    thread = threading.Thread(target=wait)
    thread.start()
    until(lambda: bool(client.thing.get_or_create("closing").resolve()))
    time.sleep(0.05)
    client.close()
    thread.join(10)
    assert [error.code for error in errors] == ["closed"]
    with pytest.raises(RivetError, match="make another one"):
        client.thing.get("closing").add(1)
    client.close()


def test_a_call_that_crosses_the_close_is_told_that_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is handed in before the end, which cancels it, or not at all: else it would wait for ever."""

    async def nothing() -> None: ...

    hand_in, portal = asyncio.run_coroutine_threadsafe, Portal(nothing)
    closing = threading.Thread(target=portal.close)

    def late(work: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> Future[None]:
        closing.start()
        closing.join(0.1)
        return hand_in(work, loop)

    portal.run(nothing)
    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", late)
    with pytest.raises(RivetError) as refused:
        portal.run(asyncio.Event().wait)
    assert refused.value.code == "closed"
    closing.join()


def test_a_client_that_is_forgotten_ends_its_thread(engine: Live) -> None:
    client = create_sync_client(engine.url)
    client.thing.get_or_create("forgotten").add(1)
    before = threading.active_count()
    del client
    gc.collect()
    assert threading.active_count() == before - 1


def test_a_forked_process_goes_on_and_so_does_its_parent(client: SyncClient) -> None:
    handle = client.thing.get_or_create("forked")
    with handle.connect() as conn:
        assert (handle.add(1), conn.add(1)) == (1, 2)
        child = os.fork()
        if not child:
            code = 1
            try:
                with pytest.raises(RivetError, match="parent"):
                    conn.add(100)
                with handle.connect() as own:
                    assert (handle.add(1), own.add(1)) == (3, 4)
                client.close()
                gc.collect()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert (handle.add(1), conn.add(1)) == (5, 6)


SCRIPT = """
import sys
from rivetpy.client import create_sync_client
client = create_sync_client(sys.argv[1])
handle = client.thing.get_or_create("interrupted")
conn = handle.connect()
events = conn.events("said")
conn.opened()
print("waiting", flush=True)
try:
    {wait}
except KeyboardInterrupt:
    print(handle.add(1), conn.add(1), flush=True)
    {end}
"""


@pytest.mark.parametrize(
    "wait", ["handle.send('ignored', 1, wait=True)", "next(events)"], ids=["call", "event"]
)
@pytest.mark.parametrize("end", ["client.close()", "pass"], ids=["closed", "left open"])
def test_an_interrupt_ends_a_wait_and_nothing_else(engine: Live, wait: str, end: str) -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(wait=wait, end=end), engine.url],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "waiting\n"
    time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (0, "")
    first, second = map(int, out.split())
    assert second == first + 1


BEGINNING = """
import atexit, sys, threading, time
from rivetpy.client import create_sync_client
atexit.register(lambda: too_late())
client = create_sync_client(sys.argv[1])
handle = client.thing.get_or_create("the end")
print(handle.add(0) >= 0)
def too_late():
    try:
        handle.add(0)
    except Exception as error:
        print(error.code)
"""
OPENED = """
    conn = handle.connect()
    conn.on("said", lambda word: time.sleep(100))
    conn.opened()
    events = conn.events("said")
    handle.shout("busy")
    assert next(events).args == ["busy"]
"""
WAITED_FOR = """
    waits = [lambda: handle.send("ignored", 1, wait=True), lambda: list(events)]
    threads = [threading.Thread(target=wait, daemon=True) for wait in waits]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
"""


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("", 0),
        (f"if True:{OPENED}{WAITED_FOR}", 0),
        ("with client, handle.connect() as conn: sys.exit(3)", 3),
        (f"with client:{OPENED}\nprint([thread.name for thread in threading.enumerate()])", 0),
    ],
    ids=["idle", "in the middle of everything", "in a block", "after it"],
)
def test_a_program_ends_quietly_whatever_it_left_open(engine: Live, program: str, code: int) -> None:
    command = [sys.executable, "-W", "always", "-c", BEGINNING + program, engine.url]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (code, "")
    first, *more, last = done.stdout.splitlines()
    assert (first, last) == ("True", "closed")
    assert set(more) <= {"['MainThread']", "['MainThread', 'rivetpy-listeners']"}, (
        "the listener is still busy"
    )


def test_a_call_from_the_clients_own_thread_is_refused(client: SyncClient) -> None:
    refused: list[str] = []

    def params() -> Any:
        try:
            client.thing.get_or_create("own").add(1)
        except RivetError as error:
            refused.append(error.code)
        return {"n": 1}

    assert client.thing.get_or_create("own", params=params).whoami() == {"n": 1}
    assert refused == ["blocks_itself"]
