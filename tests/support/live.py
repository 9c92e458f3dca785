"""The engine on a real port, in a thread of its own: for tests of clients and of the server.

`program` is some other application on a server that is not ours, which an engine may be mounted in.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from rivetpy import Registry
from rivetpy.engine.app import create_app
from rivetpy.engine.handover import Handover
from rivetpy.engine.protocols import Times
from rivetpy.engine.server import serve
from rivetpy.host import Host
from rivetpy.store.memory import MemoryStore


class Live:
    """A running engine; `stop` ends it gracefully and raises what it ended with."""

    def __init__(
        self,
        registry: Registry,
        sock: socket.socket,
        grace: float = 5,
        times: Times | None = None,
        handover: Handover | None = None,
        **options: Any,
    ) -> None:
        self.port: int = sock.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.host = Host(registry, MemoryStore())
        self._app = create_app(self.host, **options)
        self._sock = sock
        self._grace = grace
        self._times = times
        self._handover = handover
        self._started = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self._started.wait(10)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._error = error
        finally:
            self._started.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop, started = asyncio.Event(), asyncio.Event()
        serving = asyncio.create_task(
            serve(
                self._app,
                self._sock,
                self._grace,
                stop=self._stop,
                started=started,
                times=self._times,
                handover=self._handover,
            )
        )
        waiting = asyncio.create_task(started.wait())
        await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        self._started.set()
        await serving

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)
        if self._error is not None:
            raise self._error


@contextlib.contextmanager
def listening() -> Iterator[socket.socket]:
    """A listening socket on a free port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        yield sock


@contextlib.contextmanager
def live(registry: Registry, **options: Any) -> Iterator[Live]:
    with listening() as sock:
        engine = Live(registry, sock, **options)
        try:
            yield engine
        finally:
            engine.stop()


@contextlib.contextmanager
def program(app: ASGIApp, **options: Any) -> Iterator[int]:
    """The port of an application; ``options`` are uvicorn's."""
    config = uvicorn.Config(app, log_config=None, ws="websockets-sansio", **options)
    server = uvicorn.Server(config)
    with listening() as sock:
        serving = threading.Thread(target=lambda: asyncio.run(server.serve([sock.dup()])))
        serving.start()
        try:
            yield sock.getsockname()[1]
        finally:
            server.should_exit = True
            serving.join(30)
