"""What one feels from outside: how fast it is there, how fast a command answers, what sleepers weigh."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import ROUNDS, Row, fresh, rounds
from rivetpy.client import create_client
from tests.support.engine import Engine, engine, family

REGISTRY = Path(__file__).with_name("registry.py")
SLEEPERS = 10_000


@contextlib.contextmanager
def running_engine(directory: Path) -> Iterator[Engine]:
    with engine(REGISTRY, directory) as running:
        yield running


async def first_action(endpoint: str) -> None:
    async with create_client(endpoint) as client:
        await client.counter.get_or_create(["main"]).getState()


def first_answer_seconds(directory: Path) -> float:
    begin = time.perf_counter()
    with running_engine(directory) as started:
        asyncio.run(first_action(started.url))
        return time.perf_counter() - begin


def cold_start(directory: Path) -> list[Row]:
    seconds = statistics.median(first_answer_seconds(fresh(directory)) for _ in rounds())
    return [Row("`rivet dev` to the first action answered", seconds, "s", work="cold-start")]


def resumed(directory: Path) -> tuple[float, float]:
    """Seconds from starting the engine again, and from its first line, until a workflow with 1,000 done steps and one
    that was running when everything was killed is at that one again."""
    path = str(directory)
    with running_engine(directory / "data") as started:
        asyncio.run(make_held(started.url, path))
        wait_for(directory / "first")
        started.kill()
        begin = time.perf_counter()
        started.start()
        up = time.perf_counter()
        wait_for(directory / "second")
        return time.perf_counter() - begin, time.perf_counter() - up


async def make_held(endpoint: str, path: str) -> None:
    async with create_client(endpoint) as client:
        await client.held.create(["main"], input=path)


def wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.002)


def resume(directory: Path) -> list[Row]:
    measured = [resumed(fresh(directory)) for _ in rounds()]
    whole, rest = (statistics.median(each) for each in zip(*measured, strict=True))
    return [
        Row("SIGKILL, start, 1,000 done steps replayed", whole, "s", work="resume"),
        Row("of it after the engine was up", rest, "s"),
    ]


def send(directory: Path) -> list[Row]:
    def once(started: Engine) -> float:
        begin = time.perf_counter()
        started.rivet("send", "counter", '{"delta":1}')
        return time.perf_counter() - begin

    with running_engine(directory) as started:
        once(started)
        seconds = statistics.median(once(started) for _ in range(2 * ROUNDS))
    return [Row("`rivet send`, the whole command", seconds, "s")]


def reload(directory: Path) -> list[Row]:
    """The first save, which starts a child from nothing, is not counted: the next ones find one prepared."""
    file = directory / "registry.py"
    directory.mkdir(parents=True, exist_ok=True)
    file.write_text(REGISTRY.read_text())

    def once(started: Engine, number: int) -> float:
        begin = time.perf_counter()
        file.write_text(f"{REGISTRY.read_text()}\n# {number}\n")
        started.process.wait_for(rf"(?s)(reloaded in .*){{{number}}}")
        return time.perf_counter() - begin

    with engine(file, directory / "data") as started:
        started.process.wait_for("Ctrl-C")
        asyncio.run(first_action(started.url))
        times = []
        for number in range(1, 2 * ROUNDS + 2):
            times.append(once(started, number))
            time.sleep(2)  # until the next child is prepared
    return [Row("reload, from the save to serving", statistics.median(times[1:]), "s")]


def resident(started: Engine) -> float:
    """Resident memory of every process of the engine, in MB."""
    pids = ",".join(map(str, family(started.process.popen.pid)))
    shown = subprocess.run(["ps", "-o", "rss=", "-p", pids], capture_output=True, text=True, check=True)
    return sum(map(int, shown.stdout.split())) / 1024


async def make_sleepers(endpoint: str) -> None:
    async with create_client(endpoint) as client:
        keys = iter(range(SLEEPERS))

        async def share() -> None:
            for n in keys:
                await client.sleeper.get_or_create([f"s{n}"]).resolve()

        await asyncio.gather(*(share() for _ in range(50)))


def memory(directory: Path) -> list[Row]:
    with running_engine(directory) as started:
        asyncio.run(first_action(started.url))
        empty = resident(started)
        asyncio.run(make_sleepers(started.url))
        time.sleep(5)  # until the last one sleeps
        after = resident(started)
        started.kill()
        started.start()
        asyncio.run(first_action(started.url))
        again = resident(started)
    return [
        Row("memory of the engine with one actor", empty, "MB"),
        Row(f"above that: {SLEEPERS:,} actors made and asleep", after - empty, "MB"),
        Row("above that: the same after a restart", again - empty, "MB"),
    ]
