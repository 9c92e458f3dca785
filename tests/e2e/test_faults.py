"""What else may happen to a real engine: it is stopped for a while, runs out of files, or its steps misbehave."""

from __future__ import annotations

import os
import resource
import signal
import socket
import time
from pathlib import Path

import httpx
import pytest

from tests.support.asgi import MADE
from tests.support.engine import Engine, engine, family

REGISTRY = """
import asyncio
import os

from rivetpy import actor, queue, setup
from rivetpy.workflow import Loop, workflow

held = []


async def leak(step):
    for _ in range(1000):
        held.append(asyncio.create_task(asyncio.sleep(1e6)))
    asyncio.create_task(fail())
    return "left them"


async def fail():
    raise ValueError("nobody awaits me")


async def add(step, by):
    step.state["n"] += by


async def run(ctx):
    await ctx.step("leak", leak)
    return await ctx.loop("work", iteration)


async def iteration(loop):
    for message in await loop.queue.next_batch("job", timeout=0.5):
        await loop.step("add", add, message.body)
    return Loop.continue_()


def open_files(c, number):
    for _ in range(number):
        held.append(os.open(os.devnull, os.O_RDONLY))
    return len(held)


def close_files(c):
    while held:
        each = held.pop()
        if isinstance(each, int):
            os.close(each)


counter = actor(
    state={"n": 0},
    queues={"jobs": queue()},
    run=workflow(run),
    actions={"get": lambda c: c.state["n"]},
)
files = actor(actions={"open": open_files, "close": close_files, "ping": lambda c: "pong"})
registry = setup(use={"counter": counter, "files": files})
"""


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    path = tmp_path / "registry.py"
    path.write_text(REGISTRY)
    return path


def act(running: Engine, actor: str, name: str, *args: object) -> object:
    url = f"{running.url}/gateway/{actor}/action/{name}?{MADE}&rvt-key=main"
    return httpx.post(url, json={"args": args}, timeout=60).json()["output"]


def counted(running: Engine, wanted: int) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if act(running, "counter", "get") == wanted:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("seconds", [1, pytest.param(60, marks=pytest.mark.long)])
def test_a_process_that_was_stopped_goes_on_where_it_was(
    registry: Path, tmp_path: Path, seconds: float
) -> None:
    """A laptop that slept: the deadline of the wait passed meanwhile, and a message waits in the socket."""
    with engine(registry, tmp_path / "data") as running:
        send(running, 1)
        assert counted(running, 1)
        pids = family(running.process.popen.pid)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        with socket.create_connection(("127.0.0.1", running.port)) as waiting:
            body = b'{"body":2,"name":"jobs"}'
            path = f"/gateway/counter/queue/jobs?{MADE}&rvt-key=main"
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
            waiting.sendall(head.encode() + body)
            time.sleep(seconds)
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
            waiting.settimeout(60)
            assert waiting.recv(4096).startswith(b"HTTP/1.1 200")
        assert counted(running, 3)


def send(running: Engine, by: int) -> None:
    url = f"{running.url}/gateway/counter/queue/jobs?{MADE}&rvt-key=main"
    httpx.post(url, json={"body": by, "name": "jobs"}, timeout=60).raise_for_status()


def test_tasks_that_a_step_leaks_hold_nothing_up(registry: Path, tmp_path: Path) -> None:
    with engine(registry, tmp_path / "data") as running:
        send(running, 5)
        assert counted(running, 5)
        assert running.process.interrupt(60) == 0, "nor do they hold up the end"
        running.start()
        assert act(running, "counter", "get") == 5


def test_out_of_files_it_says_so_and_recovers(registry: Path, tmp_path: Path) -> None:
    """Files that an actor leaks: new connections are refused while there is no room, and what runs goes on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300 if hard == resource.RLIM_INFINITY else hard))
    try:
        running = Engine(registry, tmp_path / "data", options=[])
        running.spawn()
        for pid in family(running.process.popen.pid):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (300, 300))
        running.ready()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        with httpx.Client(base_url=running.url, timeout=60) as kept:
            path = f"/gateway/files/action/%s?{MADE}&rvt-key=main"
            assert kept.post(path % "open", json={"args": [250]}).status_code == 200
            refused = httpx.get(f"{running.url}/health", timeout=60)
            assert refused.status_code == 503
            assert refused.json()["code"] == "service_unavailable"
            running.process.wait_for("ulimit -n")
            send_kept = kept.post(
                f"/gateway/counter/queue/jobs?{MADE}&rvt-key=main", json={"body": 7, "name": "jobs"}
            )
            assert send_kept.status_code == 200, "what is connected is served, and commits"
            assert kept.post(path % "close", json={"args": []}).status_code == 200
        assert httpx.get(f"{running.url}/health", timeout=60).status_code == 200
        assert counted(running, 7)
    finally:
        running.kill()
