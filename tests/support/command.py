"""`rivet` run inside the test's own process, and an engine in a thread for it to talk to."""

from __future__ import annotations

import asyncio
import contextlib
import io
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rivetpy import Registry
from rivetpy.cli.app import main
from rivetpy.cli.listening import listen
from rivetpy.engine.app import create_app
from rivetpy.engine.server import serve
from rivetpy.host import Host
from rivetpy.store.memory import MemoryStore


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line that says what went wrong."""
        lines = self.err.splitlines()
        assert lines and lines[0].startswith("error: "), self.err
        return lines[0].removeprefix("error: ")


def rivet(*args: str, stdin: bytes = b"") -> Ended:
    """Run a command; the environment and the current directory are the test's."""
    out, err = _stream(), _stream()
    before = sys.argv, sys.stdin, sys.stdout, sys.stderr
    sys.argv = ["rivet", *args]
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(stdin)), out, err
    code: Any = None
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = before
    assert isinstance(code, int)
    return Ended(code, _text(out), _text(err))


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode()


@contextlib.contextmanager
def engine_thread(registry: Registry, token: str | None = None, runs: str | None = None) -> Iterator[str]:
    """A real engine over a memory store on a free port; its address. ``runs``: the registry's file, as it tells it."""
    listener = listen("127.0.0.1", 0)
    loop = asyncio.new_event_loop()
    stop, started = asyncio.Event(), threading.Event()

    async def live() -> None:
        store = MemoryStore()
        accepting = asyncio.Event()
        details = {"dataDir": "-", "durability": "none", "registry": runs}
        app = create_app(Host(registry, store), token=token, details=details)
        serving = asyncio.create_task(serve(app, listener, 1, stop=stop, started=accepting))
        await accepting.wait()
        started.set()
        await serving
        await store.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(live(),))
    thread.start()
    try:
        assert started.wait(20)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(20)
        loop.close()
        listener.close()


def write_project(directory: Path, source: str, name: str = "registry.py") -> Path:
    """A registry file."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / name
    file.write_text(source)
    return file
