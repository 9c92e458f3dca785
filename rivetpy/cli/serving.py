"""A registry over its store on a socket: the child's life from the import to the last commit."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Coroutine

from rivetpy.cli.eventlog import EventLog
from rivetpy.cli.imported import actors_report
from rivetpy.cli.launch import Launch, Order, Report
from rivetpy.cli.loading import load_registry
from rivetpy.cli.logs import set_up_logging
from rivetpy.cli.orders import Orders
from rivetpy.cli.prechecking import NOT_CHECKED, precheck
from rivetpy.cli.watchdog import Watchdog, users_line
from rivetpy.config import (
    ACTOR_FILES,
    DATABASE,
    RegistryError,
    RegistryRef,
    distrust_fresh_bytecode,
    files_of_failure,
    is_loopback,
    loaded_files,
    loaded_folders,
)
from rivetpy.engine.app import create_app
from rivetpy.engine.handover import Handover
from rivetpy.engine.server import serve
from rivetpy.host import Host
from rivetpy.registry import Registry
from rivetpy.store.sqlite import Durability, SqliteStore

#: Seconds that requests in progress get at a stop; the actors' own grace comes after it.
REQUEST_GRACE = 2.0
#: Seconds that an import may take before a word is said.
PATIENCE = 5.0
#: Seconds between two looks for modules that were imported since.
LOOK_PERIOD = 1.0


Reporter = Callable[[Report], None]


def serve_registry(launch: Launch, stdout: int, report: Reporter, orders: Orders) -> None:
    """Import when told to, serve when told to, put everything away at SIGTERM or when told to.

    Raises RegistryError and StoreError at the start.
    """
    distrust_fresh_bytecode()
    orders.came[Order.IMPORT].wait()
    registry = _import(launch.registry, report)
    set_up_logging(launch.log_level, launch.log_format)
    report(actors_report(registry, sorted(loaded_files())))
    report(precheck(registry, launch.data_dir) if orders.came[Order.CHECK].is_set() else NOT_CHECKED)
    orders.came[Order.GO].wait()
    events = EventLog(stdout, launch.log_level, launch.color, orders.came[Order.SPEAK], launch.log_format)
    _run(_serve(launch, registry, events, report, orders))


def mending(ref: RegistryRef, error: RegistryError) -> Report:
    """What may be changed to mend a registry that can't be imported: files to save, folders to add some to."""
    files = loaded_files() | files_of_failure(error) | {str(ref.path)}
    return {"files": sorted(files), "folders": sorted(loaded_folders() | {str(ref.root)})}


def _import(ref: RegistryRef, report: Reporter) -> Registry:
    """Import; tell where it is if that takes long."""
    importing, done = threading.get_ident(), threading.Event()

    def look() -> None:
        if not done.wait(PATIENCE):
            report({"stuck": users_line(importing) or ref.path.name})

    threading.Thread(target=look, name="rivet-import", daemon=True).start()
    try:
        return load_registry(ref)
    finally:
        done.set()


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
    launch: Launch, registry: Registry, events: EventLog, report: Reporter, orders: Orders
) -> None:
    loop = asyncio.get_running_loop()
    stop, started = asyncio.Event(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    handover = Handover(*(socket.socket(fileno=file) for file in launch.handover_fds))

    def leave() -> None:
        handover.leaving = True
        stop.set()

    orders.on_leave(lambda: loop.call_soon_threadsafe(leave))
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
    ready = asyncio.create_task(_report_files(started, report))
    try:
        await serve(app, listener, REQUEST_GRACE, stop=stop, started=started, handover=handover)
    finally:
        ready.cancel()
        watchdog.end()
        await store.close()
        events.close()


async def _report_files(started: asyncio.Event, report: Reporter) -> None:
    """Say that it serves; then, from time to time, which of the user's files were imported since."""
    await started.wait()
    report({"ready": True})
    known, modules = loaded_files(), len(sys.modules)
    while True:
        since = time.time_ns()
        await asyncio.sleep(LOOK_PERIOD)
        if len(sys.modules) != modules:
            modules = len(sys.modules)
            if files := loaded_files() - known:
                known |= files
                report({"files": sorted(files), "since": since})
