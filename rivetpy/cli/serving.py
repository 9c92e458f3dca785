"""A registry over its store on a socket: the child's life from the import to the last commit."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator

from rivetpy.cli.eventlog import EventLog
from rivetpy.cli.imported import actors_report
from rivetpy.cli.launch import NOT_CHECKED, Launch, Order, Report
from rivetpy.cli.leaving import let_finish
from rivetpy.cli.loading import load_registry
from rivetpy.cli.logs import set_up_logging
from rivetpy.cli.orders import Orders
from rivetpy.cli.stays import SLOW
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
#: Seconds between two looks for modules that were imported since.
LOOK_PERIOD = 1.0
#: What not every engine needs, and a child that has to wait imports in advance.
_LATER = ("rivetpy.cli.prechecking", "rivetpy.engine.inspector.socket", "rivetpy.host.peers")


Reporter = Callable[[Report], None]


def serve_registry(launch: Launch, stdout: int, report: Reporter, orders: Orders) -> None:
    """Import when told to, serve when told to, put everything away at SIGTERM or when told to.

    Raises RegistryError and StoreError at the start.
    """
    distrust_fresh_bytecode()
    if not orders.came[Order.IMPORT].is_set():
        for module in _LATER:
            importlib.import_module(module)
    orders.came[Order.IMPORT].wait()
    with telling(report):
        registry = load_registry(launch.registry)
    set_up_logging(launch.log_level, launch.log_format)
    report(actors_report(registry, sorted(loaded_files())))
    with telling(report):
        checked = _checked(registry, launch) if orders.came[Order.CHECK].is_set() else NOT_CHECKED
    report(checked)
    orders.came[Order.GO].wait()
    events = EventLog(stdout, launch.log_level, launch.color, orders.came[Order.SPEAK], launch.log_format)
    with telling(report) as opening:
        _run(_serve(launch, registry, events, report, orders, opening))


def mending(ref: RegistryRef, error: RegistryError) -> Report:
    """What may be changed to mend a registry that can't be imported: files to save, folders to add some to."""
    files = loaded_files() | files_of_failure(error) | {str(ref.path)}
    return {"files": sorted(files), "folders": sorted(loaded_folders() | {str(ref.root)})}


def _checked(registry: Registry, launch: Launch) -> Report:
    from rivetpy.cli.prechecking import precheck

    return precheck(registry, launch.data_dir)


@contextlib.contextmanager
def telling(report: Reporter) -> Iterator[threading.Timer]:
    """Tell where this thread is if the block takes long, or until the timer is cancelled."""
    thread = threading.get_ident()
    timer = threading.Timer(SLOW, lambda: report({"stuck": users_line(thread)}))
    timer.daemon = True
    timer.start()
    try:
        yield timer
    finally:
        timer.cancel()


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
    launch: Launch,
    registry: Registry,
    events: EventLog,
    report: Reporter,
    orders: Orders,
    opening: threading.Timer,
) -> None:
    loop = asyncio.get_running_loop()
    stop, started = asyncio.Event(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    handover = Handover(*(socket.socket(fileno=file) for file in launch.handover_fds))
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
    told, watchdog = asyncio.Event(), Watchdog()
    orders.on_leave(lambda: loop.call_soon_threadsafe(told.set))

    async def leave() -> None:
        await told.wait()
        report({"leaving": True})
        await let_finish(host, report)
        handover.leaving = True
        stop.set()

    helpers = (
        asyncio.create_task(_report_files(started, report, opening)),
        asyncio.create_task(leave()),
    )
    try:
        await serve(app, listener, REQUEST_GRACE, stop=stop, started=started, handover=handover)
    finally:
        for helper in helpers:
            helper.cancel()
        watchdog.end()
        await store.close()
        events.close()


async def _report_files(started: asyncio.Event, report: Reporter, opening: threading.Timer) -> None:
    """Say that it serves; then, from time to time, which of the user's files were imported since."""
    await started.wait()
    opening.cancel()
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
