"""A real Rivet Engine from npm with a small Node actor, on ports of its own."""

from __future__ import annotations

import contextlib
import platform
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.engine import Process, environment
from tests.support.js import FOLDER, installed

BINARY = "node_modules/@rivetkit/engine-cli-linux-x64-musl/rivet-engine"
#: Seconds. The machine may be busy.
PATIENCE = 120


def _free_ports(count: int) -> list[str]:
    """All at once, so that they differ."""
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [str(sock.getsockname()[1]) for sock in opened]


def _until(condition: Callable[[], bool], process: Process) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.HTTPError):
            if condition():
                return
        assert process.popen.poll() is None, "".join(process.output)
        time.sleep(0.2)
    raise AssertionError("".join(process.output)[-2000:])


@contextlib.contextmanager
def real_engine(folder: Path) -> Iterator[str]:
    """The address of a started engine, for which a Node process runs ``counter.mjs``."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        pytest.skip("the engine's binary for tests is the one for Linux on x86_64")
    port, peer, metrics = _free_ports(3)
    url = f"http://127.0.0.1:{port}"
    ports = {"RIVET__GUARD__PORT": port, "RIVET__API_PEER__PORT": peer, "RIVET__METRICS__PORT": metrics}
    # A busy machine would make the engine put off new actors: it sheds load by the use of all its cores.
    where = {
        "RIVET__RUNTIME__WORKER_CPU_MAX": "1000000",
        "RIVET__GUARD__HOST": "127.0.0.1",
        "RIVET__FILE_SYSTEM__PATH": str(folder / "db"),
    }
    started: list[Process] = []
    try:
        engine = Process([str(installed() / BINARY), "start"], folder, environment(**ports, **where))
        started.append(engine)
        _until(lambda: httpx.get(f"{url}/health").is_success, engine)
        shutil.copy(FOLDER / "counter.mjs", folder)
        (folder / "node_modules").symlink_to(installed() / "node_modules")
        node = Process(["node", "counter.mjs"], folder, environment(RIVET_ENDPOINT=url))
        started.append(node)
        envoys = f"{url}/envoys?namespace=default"
        _until(lambda: bool(httpx.get(envoys).json().get("envoys")), node)
        yield url
    finally:
        for process in reversed(started):
            process.kill()
