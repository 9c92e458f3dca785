"""SIGKILL of a process that commits: every commit it was told about is there, whole and in order."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rivetpy.store.sqlite import SqliteStore
from tests.support.engine import ROOT, environment

WRITER = ROOT / "tests" / "support" / "writer.py"


def write_and_be_killed(journal: Path, committers: int, moment: float) -> dict[str, int]:
    """The last number each actor was told is durable."""
    command = [sys.executable, str(WRITER), str(journal), str(committers)]
    told: dict[str, int] = {}
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(moment)
        process.kill()
        # A pipe keeps what was written to it; the last line may be torn, as anything a dead process wrote.
        for line in [first, *process.stdout]:
            actor, _, number = line.partition(" ")
            if number.endswith("\n"):
                told[actor] = int(number)
    assert told
    return told


async def check(journal: Path, told: dict[str, int]) -> None:
    reader = SqliteStore.open(journal, read_only=True)
    for actor, last in told.items():
        found = dict(await reader.load(actor))
        number = int(found.pop(b"left"))
        assert number >= last, f"{actor} was told {last}, and {number} is there"
        assert int(found.pop(b"right")) == number
        kept = range(max(0, number - 49), number + 1)
        assert found == {b"n%d" % n: b"x" * (n * 37 % 5000) for n in kept}
    assert len(await reader.awake()) >= len(told)
    await reader.close()


def rounds(journal: Path, moments: list[float]) -> None:
    for number, moment in enumerate(moments):
        told = write_and_be_killed(journal, committers=1 if number % 2 else 20, moment=moment)
        asyncio.run(check(journal, told))


def test_kill_a_few_times(tmp_path: Path) -> None:
    rounds(tmp_path / "journal.db", [random.uniform(0, 0.2) for _ in range(4)])


@pytest.mark.long
def test_kill_a_hundred_times(tmp_path: Path) -> None:
    rounds(tmp_path / "journal.db", [random.uniform(0, 1) for _ in range(100)])
