"""A registry over its store on a socket: the child's life from the import to the last commit."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Coroutine

from rivetpy.cli.eventlog import EventLog, set_up_logging
from rivetpy.cli.launch import Launch, Report, actors_report
from rivetpy.cli.watchdog import Watchdog
from rivetpy.config import ACTOR_FILES, DATABASE, is_loopback, load_registry
from rivetpy.engine.app import create_app
from rivetpy.engine.server import serve
from rivetpy.host import Host
from rivetpy.registry import Registry
from rivetpy.store.sqlite import Durability, SqliteStore

#: Seconds that requests in progress get at a stop; the actors' own grace comes after it.
REQUEST_GRACE = 2.0


def serve_registry(
    launch: Launch, stdout: int, report: Callable[[Report], None], announced: threading.Event
) -> None:
    """Import, open, serve until SIGTERM, put everything away. Raises RegistryError and StoreError at the start.

    ``announced`` is set once the parent has said that the engine runs.
    """
    registry = load_registry(launch.registry)
    set_up_logging(launch.log_level)
    report(actors_report({name: (list(a.queues), list(a.actions)) for name, a in registry.actors.items()}))
    _run(_serve(launch, registry, EventLog(stdout, launch.log_level, launch.color, announced), report))


def _run(main: Coroutine[object, object, None]) -> None:
    """Like asyncio.run, but without waiting for worker threads afterwards: a step's may never end."""
    try:
        import uvloop
    except ImportError:
        loop = asyncio.new_event_loop()
    else:
        loop = uvloop.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(main)


async def _serve(
    launch: Launch, registry: Registry, events: EventLog, report: Callable[[Report], None]
) -> None:
    stop, started = asyncio.Event(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    store = SqliteStore.open(launch.data_dir / DATABASE, Durability(launch.durability))
    listener = socket.socket(fileno=launch.socket_fd)
    host = Host(
        registry,
        store,
        always_replay=launch.strict_replay,
        on_event=events.show,
        files=launch.data_dir / ACTOR_FILES,
    )
    app = create_app(
        host,
        token=os.environ.get("RIVET_TOKEN") or None,
        local_only=is_loopback(listener.getsockname()[0]),
        details={
            "registry": str(launch.registry.path),
            "dataDir": str(launch.data_dir),
            "durability": launch.durability,
        },
    )
    watchdog = Watchdog()
    ready = asyncio.create_task(_report_ready(started, report))
    try:
        await serve(app, listener, REQUEST_GRACE, stop=stop, started=started)
    finally:
        ready.cancel()
        watchdog.end()
        await store.close()
        events.close()


async def _report_ready(started: asyncio.Event, report: Callable[[Report], None]) -> None:
    await started.wait()
    report({"ready": True})
