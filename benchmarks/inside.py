"""What the kernel and the store reach in one process, without HTTP in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.measure import Row, against, normal, row, run
from benchmarks.registry import BRANCHES, STEPS, registry
from rivetpy.codec import Value
from rivetpy.host import Host
from rivetpy.host.events import HostEvent
from rivetpy.store.sqlite import Durability, SqliteStore
from rivetpy.wire.bodies import QueueSend

MESSAGES = 2000
SENDERS = 50
WORKFLOWS = 500


class Finish:
    """Counts workflows that completed."""

    def __init__(self, wanted: int = 1) -> None:
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
async def open_host(
    directory: Path, on_event: Finish | None = None, durability: Durability = Durability.DISK
) -> AsyncIterator[Host]:
    store = SqliteStore.open(directory / "journal.db", durability)
    host = Host(registry, store, on_event=on_event)
    await host.start()
    try:
        yield host
    finally:
        await host.stop()
        await store.close()


async def workflow(
    directory: Path, name: str, input: Value = None, durability: Durability = Durability.DISK
) -> float:
    """Seconds until one workflow is completed."""
    finish = Finish()
    async with open_host(directory, finish, durability) as host:
        begin = time.perf_counter()
        await host.create("default", name, ("main",), input)
        await finish.done.wait()
        return time.perf_counter() - begin


async def put_messages(directory: Path) -> float:
    async with open_host(directory) as host:
        actor = await host.create("default", "counter", ("main",))

        async def send_share() -> None:
            for _ in range(MESSAGES // SENDERS):
                await host.send(actor.id, "counter", QueueSend({"delta": 1}))

        begin = time.perf_counter()
        await asyncio.gather(*(send_share() for _ in range(SENDERS)))
        while (await host.call(actor.id, "getState", []))["processed"] < MESSAGES:
            await asyncio.sleep(0.002)
        return MESSAGES / (time.perf_counter() - begin)


async def run_many(directory: Path) -> float:
    finish = Finish(WORKFLOWS)
    async with open_host(directory, finish) as host:
        begin = time.perf_counter()
        await asyncio.gather(*(host.create("default", "three", (f"k{n}",)) for n in range(WORKFLOWS)))
        await finish.done.wait()
        return WORKFLOWS / (time.perf_counter() - begin)


def steps_per_second(directory: Path) -> float:
    return STEPS / run(workflow(directory, "sequence"))


def quick_steps_per_second(directory: Path) -> float:
    return STEPS / run(workflow(directory, "sequence", durability=Durability.PROCESS))


def workflows_per_second(directory: Path) -> float:
    return run(run_many(directory))


def join_milliseconds(directory: Path) -> float:
    return run(workflow(directory, "joined")) * 1000


def steps(directory: Path) -> list[Row]:
    quick, ratio = against(quick_steps_per_second, normal, directory)
    return [
        *row(
            f"{STEPS:,} durable steps, one after the other", "steps/s", steps_per_second, directory, "steps"
        ),
        Row("the same with --durability process", quick, "steps/s", ratio, "NORMAL"),
    ]


def messages(directory: Path) -> list[Row]:
    name = f"{MESSAGES} messages to one counter, in process, {SENDERS} senders"
    return row(name, "messages/s", lambda path: run(put_messages(path)), directory)


def fan_out(directory: Path) -> list[Row]:
    return row(
        f"{WORKFLOWS} workflows of 3 steps at once", "workflows/s", workflows_per_second, directory, "fan-out"
    )


def join(directory: Path) -> list[Row]:
    took, _ = against(join_milliseconds, lambda path: 1, directory)
    return [Row(f"a join of {BRANCHES} branches of one step, made and completed", took, "ms", work="join")]
