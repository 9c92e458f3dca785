"""An engine inside a program of its own: as an ASGI application, or served at an address (spec actors 7)."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import signal
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from rivetpy.config import (
    ACTOR_FILES,
    DATABASE,
    DEFAULT_HOST,
    DEFAULT_PORT,
    RegistryRef,
    data_dir,
    is_loopback,
)
from rivetpy.engine.app import create_app
from rivetpy.engine.server import serve as serve_app
from rivetpy.errors import RivetError
from rivetpy.host import Host
from rivetpy.registry import Registry
from rivetpy.store.lock import DataLock
from rivetpy.store.sqlite import Durability, SqliteStore


@dataclass(frozen=True, slots=True)
class Settings:
    """How an embedded engine runs. Without ``directory`` it shares the data of `rivet dev` on the same file."""

    registry: Registry
    directory: str | os.PathLike[str] | None = None
    #: ``disk`` or ``process``.
    durability: str = "disk"
    #: What every request must carry; by default RIVET_TOKEN.
    token: str | None = field(default_factory=lambda: os.environ.get("RIVET_TOKEN") or None, repr=False)
    #: Whether only this machine can reach it: then pages of other sites are refused.
    local_only: bool = True


class EmbeddedEngine:
    """The ASGI application of a registry, with its data; mount it under any path.

    Servers run the lifespan of the outermost application only: hand `lifespan` to that one. Without it the engine
    starts with the first request, and ends with the process as if it had been killed, which loses nothing either.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._app: Starlette | None = None
        self._starting = asyncio.Lock()
        self._life = contextlib.AsyncExitStack()

    @contextlib.asynccontextmanager
    async def lifespan(self, _: ASGIApp | None = None) -> AsyncIterator[None]:
        """The engine runs for as long as the block. Raises `StoreError`: ``in_use``, ``not_writable``, …"""
        await self._started()
        try:
            yield
        finally:
            self._app = None
            await self._life.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await Starlette(lifespan=self.lifespan)(scope, receive, send)
        else:
            app = None if self._gone else self._app
            await (app or await self._started())(scope, receive, send)

    @property
    def _gone(self) -> bool:
        """Whether its event loop was closed, and took it along: clients of tests have a loop for each request."""
        return self._loop is not None and self._loop.is_closed()

    async def _started(self) -> Starlette:
        if self._gone:
            self._begin_anew()
        async with self._starting:
            self._loop = asyncio.get_running_loop()
            if self._app is None:
                app = await self._life.enter_async_context(_opened(self._settings))
                await self._life.enter_async_context(app.router.lifespan_context(app))
                self._app = app
            return self._app


@contextlib.asynccontextmanager
async def _opened(settings: Settings, port: int = 0) -> AsyncIterator[Starlette]:
    """The engine's application over its own data directory, locked and open for as long as the block."""
    directory = _directory(settings)
    lock = DataLock.acquire(directory, port)
    try:
        store = SqliteStore.open(directory / DATABASE, Durability(settings.durability))
        host = Host(settings.registry, store, files=directory / ACTOR_FILES)
        details = {"dataDir": str(directory), "durability": settings.durability}
        try:
            yield create_app(host, token=settings.token, local_only=settings.local_only, details=details)
        finally:
            await store.close()
    finally:
        lock.release()


async def serve(
    settings: Settings,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    *,
    stop: asyncio.Event | None = None,
    started: asyncio.Event | None = None,
) -> None:
    """Serve a registry until ``stop`` is set or the caller is cancelled; ``started`` is set once it answers.

    Raises RivetError ``engine.no_token`` for an address that others can reach without a token, ``engine.no_port``
    when the port is taken, and `StoreError`.
    """
    settings = dataclasses.replace(settings, local_only=is_loopback(host))
    if not settings.local_only and settings.token is None:
        raise RivetError(
            "engine",
            "no_token",
            f"Others can reach {host}: give a token=… or set RIVET_TOKEN, or use {DEFAULT_HOST}.",
        )
    try:
        listener = socket.create_server((host, port), backlog=1024)
    except OSError as error:
        raise RivetError(
            "engine", "no_port", f"Can't listen at {host} port {port}: {error.strerror}."
        ) from error
    with listener:
        async with _opened(settings, listener.getsockname()[1]) as app:
            await serve_app(app, listener, stop=stop, started=started)


def start(settings: Settings, host: str = DEFAULT_HOST, port: int = DEFAULT_PORT) -> None:
    """`serve` until Ctrl-C or SIGTERM; blocks."""

    async def main() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await serve(settings, host, port, stop=stop)

    asyncio.run(main())


def _directory(settings: Settings) -> Path:
    """Where `rivet dev` keeps the data of the same registry, unless another place is named."""
    ref, origin = None, settings.registry.origin
    if origin is not None:
        path = Path(origin).resolve()
        ref = RegistryRef(path, path.parent, path.stem)
    return data_dir(ref, None if settings.directory is None else Path(settings.directory))
