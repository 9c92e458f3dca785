"""Whether what is there already slows down what comes: long journals, large states, many actors."""

from __future__ import annotations

import asyncio
import shutil
import statistics
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.inside import Finish, open_host, workflow
from benchmarks.measure import Row, fresh, full, rounds, run
from benchmarks.registry import STEPS
from rivetpy import codec
from rivetpy.store import ActorRow, Batch
from rivetpy.store.sqlite import SqliteStore
from rivetpy.workflow import entries, layout
from rivetpy.workflow.entries import Status, StepEntry

ROUNDS = 3
#: Seconds after which none of the three begins a further round.
ENOUGH = 20
ENTRIES = (10, 1_000, 100_000)
ACTORS = (10, 1_000, 100_000)
#: Bytes of state, and steps enough to tell their rate.
STATES = {1_000: 400, 100_000: 100, 1_000_000: 20}
Prepare = Callable[[Path, int], Coroutine[object, object, None]]
_ROW = ActorRow("grown", "default", "sequence", ("main",), 0, awake=True)


async def prepare_entries(directory: Path, count: int) -> None:
    """An actor whose workflow has done so many steps, as an engine that was killed leaves it."""
    store = SqliteStore.open(directory / "journal.db")
    rows = {
        layout.STATE: codec.encode({"steps": count}),
        layout.INPUT: codec.encode(count + STEPS),
    }
    for n in range(count):
        entry = StepEntry(f"step-{n}", n, Status.COMPLETED, 0, 0, attempts=1, started_at=0)
        entry.output = codec.encode(n)
        rows[layout.entry_key(entry.location)] = entries.pack(entry)
    await store.commit(Batch(_ROW.id, puts=rows, row=_ROW))
    await store.close()


async def go_on(directory: Path) -> float:
    """Steps per second of the rest, once what is recorded was replayed."""
    finish = Finish()
    async with open_host(directory, finish) as host:
        await host.wake(_ROW.id)
        recorded = (await host.view(_ROW.id)).state["steps"]
        while (begun := (await host.view(_ROW.id)).state["steps"]) <= recorded:
            await asyncio.sleep(0.001)
        begin = time.perf_counter()
        await finish.done.wait()
        return (recorded + STEPS - begun) / (time.perf_counter() - begin)


async def prepare_actors(directory: Path, count: int) -> None:
    """So many actors that sleep."""
    store = SqliteStore.open(directory / "journal.db")
    for first in range(0, count, 10_000):
        batches = (
            Batch(
                f"a{n}",
                puts={layout.STATE: codec.encode({"value": n})},
                row=replace(_ROW, id=f"a{n}", name="sleeper", key=(f"k{n}",), awake=False),
            )
            for n in range(first, min(count, first + 10_000))
        )
        await asyncio.gather(*map(store.commit, batches))
    await store.close()


async def prepare_nothing(directory: Path, size: int) -> None:
    """A state grows when its actor is made."""


def with_entries(directory: Path, count: int) -> float:
    return run(go_on(directory))


def with_actors(directory: Path, count: int) -> float:
    return STEPS / run(workflow(directory, "sequence"))


def with_state(directory: Path, size: int) -> float:
    return STATES[size] / run(workflow(directory, "large", {"bytes": size, "steps": STATES[size]}))


KINDS: tuple[tuple[str, Prepare, Callable[[Path, int], float], Iterable[int]], ...] = (
    ("entries in the journal", prepare_entries, with_entries, ENTRIES),
    ("bytes of state", prepare_nothing, with_state, STATES),
    ("actors in the store", prepare_actors, with_actors, ACTORS),
)


def growth(directory: Path) -> Iterator[Row]:
    """What is there is made once for each size, and every round has a copy of it."""
    for what, prepare, measure, sizes in KINDS:
        made = {size: fresh(directory) for size in sizes}
        for size, path in made.items():
            run(prepare(path, size))
        measured: dict[int, list[tuple[float, float]]] = {size: [] for size in sizes}
        for _ in rounds(ROUNDS, ENOUGH):
            for size, pairs in measured.items():
                copy = shutil.copytree(made[size], fresh(directory) / "copy")
                pairs.append((measure(copy, size), full(directory)))
                shutil.rmtree(copy)
        for size, pairs in measured.items():
            rate = statistics.median(ours for ours, _ in pairs)
            ratio = statistics.median(ours / floor for ours, floor in pairs)
            yield Row(f"steps with {size:,} {what}", rate, "steps/s", ratio)
