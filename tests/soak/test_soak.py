"""Mixed load for minutes, with kills, stops and reloads: memory, files and latency do not creep, and nothing is lost.

Two minutes; ``SOAK_MINUTES=30 pytest -m long -n0 -s tests/soak`` for longer.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from rivetpy import RivetError
from rivetpy.client import create_client
from tests.support.engine import EXAMPLES, Engine, StandIn, family, stand_in
from tests.support.load import recorded_steps, remember, under_load

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc"),
]

MINUTES = float(os.environ.get("SOAK_MINUTES", "2"))
#: Restarts, in turn: each shares the time evenly with the others.
TURNS = ["kill", "stop", "reload"] * 2


@dataclass(frozen=True, slots=True)
class Sample:
    """How the engine was at one moment: sizes in bytes, the time of a call in seconds."""

    memory: int
    journal: int
    log: int
    latency: float


async def look(running: Engine, counter: object) -> Sample:
    began = time.perf_counter()
    await counter.getState()  # type: ignore[attr-defined]
    latency = time.perf_counter() - began
    pages = [
        int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in family(running.process.popen.pid)
    ]
    files = [running.data / f"journal.db{end}" for end in ("", "-wal")]
    journal, log = (file.stat().st_size if file.exists() else 0 for file in files)
    return Sample(max(pages) * os.sysconf("SC_PAGESIZE"), journal, log, latency)


async def turn(how: str, running: Engine, registry: Path, api: StandIn, seen: dict[str, int]) -> None:
    if how == "reload":
        module = registry.with_name("counter.py")
        module.write_text(f"{module.read_text()}\n# saved again\n")
        return
    await asyncio.to_thread(running.kill if how == "kill" else running.process.interrupt)
    remember(seen, await recorded_steps(running.data), await asyncio.to_thread(api.executions))
    await asyncio.to_thread(running.start)


def creep(samples: Sequence[Sample], what: str) -> tuple[float, float]:
    """The median of a figure in the second sixth of the time, when all is warm, and in the last."""
    values = [getattr(sample, what) for sample in samples]
    sixth = len(values) // 6
    return statistics.median(values[sixth : 2 * sixth]), statistics.median(values[-sixth:])


def test_nothing_creeps(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    registry = tmp_path / "examples" / "registry.py"
    samples: list[Sample] = []

    async def happens() -> dict[str, int]:
        seen: dict[str, int] = {}
        async with create_client(running.url) as client:
            counter = client.workflowCounter.get_or_create(["main"])
            for how in [*TURNS, "end"]:
                until = time.monotonic() + MINUTES * 60 / (len(TURNS) + 1)
                while time.monotonic() < until:
                    await asyncio.sleep(0.5)
                    try:
                        samples.append(await look(running, counter))
                    except (RivetError, OSError):
                        continue  # it is being reloaded
                if how != "end":
                    await turn(how, running, registry, api, seen)
        return seen

    with stand_in(delay=0.003) as api:
        running = Engine(registry, tmp_path / "data", api=api).start()
        try:
            asyncio.run(under_load(running, api, 7, happens, ends=len(TURNS), orders=False))
            sends = len(api.log())
        finally:
            running.kill()
    figures = {what: creep(samples, what) for what in ("memory", "journal", "log", "latency")}
    for what, (first, last) in figures.items():
        print(f"{what:8} {first:14.4f} {last:14.4f}")
    assert len(samples) > 60
    assert figures["memory"][1] < figures["memory"][0] * 1.25 + 10e6
    # What stays of a send is its idempotency key, for a day.
    assert figures["journal"][1] < figures["journal"][0] * 1.5 + 1e6 + 200 * sends
    assert max(sample.log for sample in samples) < 40e6
    assert figures["latency"][1] < figures["latency"][0] * 3 + 0.05  # others use the machine, too
