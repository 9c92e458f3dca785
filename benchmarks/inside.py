"""What the kernel and the store reach in one process, without HTTP in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.measure import Row, against_floor
from benchmarks.registry import STEPS, registry
from rivetpy.host import Host
from rivetpy.host.events import HostEvent
from rivetpy.store.sqlite import SqliteStore

MESSAGES = 2000
SENDERS = 50
WORKFLOWS = 500


class Finish:
    """Counts workflows that completed."""

    def __init__(self, wanted: int) -> None:
        self.left = wanted
        self.done = asyncio.Event()

    def __call__(self, event: HostEvent) -> None:
        if event.kind in {"run_failed", "run_diverged"}:
            raise RuntimeError(event.text)
        if event.kind == "run_completed":
            self.left -= 1
            if not self.left:
                self.done.set()


@asynccontextmanager
async def open_host(directory: Path, on_event: Finish | None = None) -> AsyncIterator[Host]:
    store = SqliteStore.open(directory / "journal.db")
    host = Host(registry, store, on_event=on_event)
    await host.start()
    try:
        yield host
    finally:
        await host.stop()
        await store.close()


async def run_sequence(directory: Path) -> float:
    finish = Finish(1)
    async with open_host(directory, finish) as host:
        begin = time.perf_counter()
        await host.create("default", "sequence", ("main",))
        await finish.done.wait()
        return STEPS / (time.perf_counter() - begin)


async def run_messages(directory: Path) -> float:
    async with open_host(directory) as host:
        row = await host.create("default", "counter", ("main",))

        async def send_share() -> None:
            for _ in range(MESSAGES // SENDERS):
                await host.send(row.id, "counter", {"delta": 1})

        begin = time.perf_counter()
        await asyncio.gather(*(send_share() for _ in range(SENDERS)))
        while (await host.call(row.id, "getState", []))["processed"] < MESSAGES:
            await asyncio.sleep(0.002)
        return MESSAGES / (time.perf_counter() - begin)


async def run_fan_out(directory: Path) -> float:
    finish = Finish(WORKFLOWS)
    async with open_host(directory, finish) as host:
        begin = time.perf_counter()
        await asyncio.gather(*(host.create("default", "three", (f"k{n}",)) for n in range(WORKFLOWS)))
        await finish.done.wait()
        return WORKFLOWS / (time.perf_counter() - begin)


def measured(name: str, unit: str, directory: Path, work: Callable[[Path], Awaitable[float]]) -> list[Row]:
    async def once(path: Path) -> float:
        return await work(path)

    ours, floor, ratio = against_floor(directory, lambda path: asyncio.run(once(path)))
    return [
        Row(name, ours, unit, ratio),
        Row("  SQLite FULL, one row a commit, in the same rounds", floor, "commits/s"),
    ]


def steps(directory: Path) -> list[Row]:
    return measured(f"{STEPS} durable steps, one after the other", "steps/s", directory, run_sequence)


def messages(directory: Path) -> list[Row]:
    return measured(f"{MESSAGES} messages to one counter, in process", "messages/s", directory, run_messages)


def fan_out(directory: Path) -> list[Row]:
    return measured(f"{WORKFLOWS} workflows of 3 steps at once", "workflows/s", directory, run_fan_out)
