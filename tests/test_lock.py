"""The lock of a data directory, between real processes that really die."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rivetpy.errors import StoreError
from rivetpy.store.lock import DataLock, read_owner
from tests.support.engine import ROOT, environment

HOLDER = ROOT / "tests" / "support" / "holder.py"
Hold = Callable[..., tuple["subprocess.Popen[str]", list[int]]]


@pytest.fixture
def hold(tmp_path: Path) -> Iterator[Hold]:
    """Starts a process that owns ``tmp_path``; returns it and the pids of its children."""
    with contextlib.ExitStack() as stack:

        def start(*arguments: str) -> tuple[subprocess.Popen[str], list[int]]:
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, str(HOLDER), str(tmp_path), "6420", *arguments],
                    env=environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            assert process.stdout is not None
            return process, [int(pid) for pid in process.stdout.readline().split()]

        yield start


def refused(directory: Path) -> StoreError:
    with pytest.raises(StoreError) as error:
        DataLock.acquire(directory, 7000)
    return error.value


def soon(ready: Callable[[], object]) -> bool:
    """Whether it becomes true: the kernel closes the files of a killed process a moment after the kill."""
    deadline = time.monotonic() + 5
    while not ready():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def test_the_owner_is_named_and_the_ways_out(tmp_path: Path, hold: Hold) -> None:
    process, _ = hold()
    owner = read_owner(tmp_path)
    assert owner is not None
    assert (owner.pid, owner.port, owner.host) == (process.pid, 6420, "127.0.0.1")
    assert 0 <= time.time() * 1000 - owner.started_at < 60_000
    error = refused(tmp_path)
    assert error.code == "in_use"
    for part in (str(tmp_path), f"process {process.pid}", "port 6420", owner.since, "--data-dir", "--port"):
        assert part in error.message
    assert "\n" not in error.message
    assert read_owner(tmp_path) == owner, "the refused one changed nothing"


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path, hold: Hold) -> None:
    process, _ = hold()
    process.kill()
    process.wait()
    assert json.loads((tmp_path / "lock").read_text())["pid"] == process.pid, "its name is still there"
    assert read_owner(tmp_path) is None
    lock = DataLock.acquire(tmp_path, 7000)
    owner = read_owner(tmp_path)
    assert owner == lock.owner and owner.pid == os.getpid()
    lock.release()


def test_a_child_keeps_the_lock_of_its_dead_parent(tmp_path: Path, hold: Hold) -> None:
    process, (child,) = hold("child")
    process.kill()
    process.wait()
    assert read_owner(tmp_path) is not None
    assert refused(tmp_path).code == "in_use"
    os.kill(child, signal.SIGKILL)
    assert soon(lambda: read_owner(tmp_path) is None)
    DataLock.acquire(tmp_path, 7000).release()


def test_a_parent_keeps_the_lock_of_its_dead_child(tmp_path: Path, hold: Hold) -> None:
    process, (child,) = hold("child")
    os.kill(child, signal.SIGKILL)
    assert refused(tmp_path).code == "in_use"
    process.kill()
    process.wait()
    assert read_owner(tmp_path) is None


def test_releasing_leaves_it_to_the_child_that_inherited_it(tmp_path: Path) -> None:
    lock = DataLock.acquire(tmp_path, 7000)
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[lock.fd]) as child:
        lock.release()
        assert refused(tmp_path).code == "in_use"
        child.kill()
    DataLock.acquire(tmp_path, 7000).release()


def test_a_child_that_was_not_handed_the_lock_does_not_hold_it(tmp_path: Path) -> None:
    lock = DataLock.acquire(tmp_path, 7000)
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, close_fds=False) as child:
        lock.release()
        DataLock.acquire(tmp_path, 7000).release()
        child.kill()


def test_release_lets_the_next_one_in_and_may_be_repeated(tmp_path: Path) -> None:
    lock = DataLock.acquire(tmp_path, 7000)
    lock.release()
    lock.release()
    assert read_owner(tmp_path) is None
    DataLock.acquire(tmp_path, 7001).release()


def test_the_port_is_told_once_it_is_known(tmp_path: Path) -> None:
    lock = DataLock.acquire(tmp_path, 65535, host="0.0.0.0")
    lock.update(port=1)
    owner = read_owner(tmp_path)
    assert owner is not None and (owner.port, owner.host) == (1, "0.0.0.0")
    assert set(json.loads((tmp_path / "lock").read_text())) == {"pid", "port", "host", "started_at"}
    lock.release()


def test_the_directory_and_the_lock_are_the_users_own(tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "er"
    lock = DataLock.acquire(directory, 7000)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "lock").stat().st_mode) == 0o600
    assert [file.name for file in directory.iterdir()] == ["lock"], "the probe is gone"
    lock.release()


def test_readers_never_keep_an_owner_out(tmp_path: Path) -> None:
    """Asking who owns a directory holds a shared lock for an instant; an engine that starts just then waits."""
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            read_owner(tmp_path)

    (tmp_path / "lock").touch()
    readers = [threading.Thread(target=ask) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(30):
            DataLock.acquire(tmp_path, 7000).release()
    finally:
        stop.set()
        for reader in readers:
            reader.join()


def test_nobody_owns_what_was_never_there(tmp_path: Path) -> None:
    assert read_owner(tmp_path) is None
    assert read_owner(tmp_path / "none") is None
    assert not (tmp_path / "none").exists()


def test_a_torn_lock_file_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / "lock").write_bytes(b'{"pid": 12')
    lock = DataLock.acquire(tmp_path, 7000)
    assert read_owner(tmp_path) == lock.owner
    lock.release()


def test_an_owner_without_a_name_is_still_an_owner(tmp_path: Path) -> None:
    lock = DataLock.acquire(tmp_path, 7000)
    (tmp_path / "lock").write_bytes(b"")
    assert "another process" in refused(tmp_path).message
    lock.release()


@pytest.mark.parametrize("place", ["file", "file/below", "unwritable", "unwritable/below"])
def test_a_place_that_cannot_be_written_to(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "unwritable").mkdir(mode=0o500)
    if os.geteuid() == 0 and place.startswith("unwritable"):
        pytest.skip("root may write everywhere")
    error = refused(tmp_path / place)
    assert error.code == "not_writable"
    assert str(tmp_path / place) in error.message
    assert "--data-dir" in error.message and "RIVET_DATA_DIR" in error.message
    assert "\n" not in error.message
