"""What a row looks like, and the floor: one-row commits of SQLite itself on the same disk."""

from __future__ import annotations

import itertools
import sqlite3
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 5
_serial = itertools.count()


@dataclass(frozen=True)
class Row:
    """One figure; ``ratio`` is to the floor measured in alternation with it."""

    name: str
    value: float
    unit: str
    ratio: float | None = None

    def __str__(self) -> str:
        ratio = "" if self.ratio is None else f"   {self.ratio:.2f} of SQLite's one-row commits/s"
        return f"{self.name:<58} {self.value:>10,.{0 if self.value >= 100 else 2}f} {self.unit}{ratio}"


def fresh(directory: Path) -> Path:
    """A new empty directory below ``directory``."""
    path = directory / f"run-{next(_serial)}"
    path.mkdir()
    return path


def sqlite_commits(directory: Path, count: int = 1000) -> float:
    """Commits per second of one 128-byte row each: WAL, synchronous=FULL, nothing of ours in between."""
    path = fresh(directory) / "floor.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute(
            "CREATE TABLE t (actor TEXT, key TEXT, value BLOB, PRIMARY KEY (actor, key)) WITHOUT ROWID"
        )
        begin = time.perf_counter()
        for n in range(count):
            db.execute("INSERT INTO t VALUES ('a', ?, ?)", (f"{n:08}", b"x" * 128))
        return count / (time.perf_counter() - begin)


def against_floor(directory: Path, measure: Callable[[Path], float]) -> tuple[float, float, float]:
    """Medians of ``measure`` and of the floor over alternating rounds, and the median of the ratios."""
    pairs = [(measure(fresh(directory)), sqlite_commits(directory)) for _ in range(ROUNDS)]
    ours, floor = zip(*pairs, strict=True)
    return statistics.median(ours), statistics.median(floor), median_ratio(pairs)


def median_ratio(pairs: Sequence[tuple[float, float]]) -> float:
    return statistics.median(ours / floor for ours, floor in pairs)
