"""What a row looks like, and the floor: what the same disk allows, measured in alternation with the row."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import sqlite3
import statistics
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import uvloop

ROUNDS = 5
#: Seconds after which a row begins no further round.
ENOUGH = 15
_serial = itertools.count()
T = TypeVar("T")
Measure = Callable[[Path], float]


@dataclass(frozen=True)
class Row:
    """One figure; ``ratio`` is to the floor measured in alternation with it."""

    name: str
    value: float
    unit: str
    ratio: float | None = None
    #: What the floor is, unless SQLite's one-row FULL commits.
    of: str = ""
    #: The peers' row of the same work.
    work: str = ""

    def cells(self) -> list[str]:
        """The row's name, its figure and its ratio as a table shows them."""
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}{self.of and f' ({self.of})'}"
        return [self.name, f"{shown(self.value)} {self.unit}", ratio]


def shown(value: float) -> str:
    """Three digits, or all before the point and no more than three behind it."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.1 else f"{value:.3f}"


class TooLongError(KeyboardInterrupt):
    """A row took too long. An event loop lets no other interruption through."""


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Interrupts what runs in the main thread after so many seconds.

    :raises TooLongError: so that what was started is put away on the way out.
    """

    def ring(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def rounds(count: int = ROUNDS, enough: float = ENOUGH) -> Iterator[int]:
    """Numbers of the rounds to do: no further one once they took ``enough`` seconds."""
    begin = time.perf_counter()
    for number in range(count):
        yield number
        if time.perf_counter() - begin > enough:
            return


def fresh(directory: Path) -> Path:
    """A new empty directory below ``directory``."""
    path = directory / f"run-{next(_serial)}"
    path.mkdir()
    return path


def run(work: Coroutine[object, object, T]) -> T:
    """Run to the end on the event loop that engines use."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def appends(directory: Path, count: int = 1000) -> float:
    """Appends of 128 bytes per second, each followed by fdatasync."""
    fd = os.open(fresh(directory) / "floor", os.O_WRONLY | os.O_CREAT)
    try:
        begin = time.perf_counter()
        for _ in range(count):
            os.write(fd, b"x" * 128)
            os.fdatasync(fd)
        return count / (time.perf_counter() - begin)
    finally:
        os.close(fd)


def full(directory: Path) -> float:
    """Commits of one row per second, each synced."""
    return _commits(directory, "FULL", 1000)


def normal(directory: Path) -> float:
    """Commits of one row per second that the operating system syncs when it likes."""
    return _commits(directory, "NORMAL", 10_000)


def _commits(directory: Path, synchronous: str, count: int) -> float:
    """SQLite alone: WAL, 128 bytes a row, nothing of ours in between."""
    path = fresh(directory) / "floor.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute(f"PRAGMA synchronous={synchronous}")
        db.execute(
            "CREATE TABLE t (actor TEXT, key TEXT, value BLOB, PRIMARY KEY (actor, key)) WITHOUT ROWID"
        )
        begin = time.perf_counter()
        for n in range(count):
            db.execute("INSERT INTO t VALUES ('a', ?, ?)", (f"{n:08}", b"x" * 128))
        return count / (time.perf_counter() - begin)


def floor(directory: Path) -> list[Row]:
    """What this machine's disk allows."""

    def median(measure: Measure) -> float:
        return statistics.median(measure(directory) for _ in range(ROUNDS))

    return [
        Row("floor: appends of 128 bytes, fdatasync each", median(appends), "appends/s"),
        Row("floor: SQLite WAL, synchronous=FULL, one row a commit", median(full), "commits/s"),
        Row("floor: SQLite WAL, synchronous=NORMAL, one row a commit", median(normal), "commits/s"),
    ]


def against(measure: Measure, floor: Measure, directory: Path) -> tuple[float, float]:
    """The median of ``measure`` over rounds that alternate with the floor, and of their ratios."""
    measure(fresh(directory))  # once without counting: imports, caches
    pairs = [(measure(fresh(directory)), floor(directory)) for _ in rounds()]
    return statistics.median(ours for ours, _ in pairs), statistics.median(a / b for a, b in pairs)


def row(name: str, unit: str, measure: Measure, directory: Path, work: str = "") -> list[Row]:
    """A row beside SQLite's one-row FULL commits."""
    value, ratio = against(measure, full, directory)
    return [Row(name, value, unit, ratio, work=work)]
