"""The benchmarks come to their end: whatever hangs or fails is a word in their table, and nothing stays behind."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import __main__, peers
from benchmarks.measure import Row, run
from benchmarks.peers import peer
from benchmarks.peers.peer import Peer

OURS = Row("so many steps", 900, "steps/s", 0.5, work="steps")
#: Says the id of a process that has left the group of the one that started it.
DETACHING = """
import subprocess, sys
child = subprocess.Popen(["sleep", "3600"], start_new_session=True)
print("figure", child.pid, flush=True)
"""
SCRIPTS = {
    "rate": ("print('figure 300')", "300 (3.0 x)"),
    "no-figure": ("raise SystemExit('no such engine')", "failed"),
    "no-end": ("import time; time.sleep(3600)", "not in time"),
}


def scripted(source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Peer:
    """A peer whose work this script does with the Python that runs the tests."""
    (folder / "work.py").write_text(source)
    python = folder / "venv/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    monkeypatch.setattr(peer, "FOLDER", folder)
    monkeypatch.setattr(Peer, "home", lambda self: folder)
    return Peer("another system", "work.py", {"steps": 10})


@pytest.mark.parametrize("what", SCRIPTS)
def test_a_peers_cell(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, expected = SCRIPTS[what]
    monkeypatch.setattr(peer, "PATIENCE", 1 if what == "no-end" else 60)
    assert peers.cell(scripted(source, tmp_path, monkeypatch), OURS, tmp_path) == expected


def test_a_row_that_the_peer_does_not_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = scripted("", tmp_path, monkeypatch)
    assert peers.cell(other, Row("a join", 3, "ms", work="join"), tmp_path) == "not measured"
    assert peers.cell(other, Row("memory", 70, "MB"), tmp_path) == ""


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_what_a_peer_started_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = int(scripted(DETACHING, tmp_path, monkeypatch).measure("steps", tmp_path))
    status = Path(f"/proc/{pid}/stat")
    deadline = time.monotonic() + 30
    while status.exists() and status.read_text().split()[2] != "Z":
        assert time.monotonic() < deadline, "it outlived the peer"
        time.sleep(0.01)


def test_a_row_that_hangs_or_fails_is_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def hangs(_: Path) -> Iterator[Row]:
        yield Row("first", 12.345, "s")
        run(asyncio.sleep(3600))

    def fails(_: Path) -> list[Row]:
        raise RuntimeError("no such disk")

    rows = {"hangs": hangs, "fails": fails, "works": lambda _: [OURS]}
    monkeypatch.setattr(__main__, "ROWS", rows)
    monkeypatch.setattr(__main__, "LIMIT", 0.3)
    __main__.table(list(rows), [], tmp_path)
    shown = capsys.readouterr()
    assert shown.out.splitlines()[2:] == [
        "| `hangs` | first | 12.3 s |  |",
        "| `hangs` |  | not in time |  |",
        "| `fails` |  | failed |  |",
        "| `works` | so many steps | 900 steps/s | 0.50 |",
    ]
    assert "no such disk" in shown.err
