"""A real engine under load on a disk that fails, fills up or is slow, or killed at the very sync of a commit."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Iterator
from pathlib import Path

import pytest

from tests.support.engine import EXAMPLES, ROOT, Engine, StandIn, stand_in
from tests.support.load import recorded_steps, remember, under_load

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs a C compiler and LD_PRELOAD"
)


class Disk:
    """What is wrong with the disk of an engine."""

    def __init__(self, directory: Path) -> None:
        self._library = directory / "faults.so"
        self._fault = directory / "fault"
        source = ROOT / "tests" / "support" / "faults.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self._library, source, "-ldl"], check=True)

    def under(self, running: Engine) -> None:
        """From its next start on, the engine stands on this disk."""
        running.env |= {"LD_PRELOAD": str(self._library), "RIVET_TEST_FAULT": str(self._fault)}

    def fails(self, how: str, number: int) -> None:
        fresh = self._fault.with_suffix(".new")
        fresh.write_text(f"{how} {number}")
        fresh.rename(self._fault)

    def is_well(self) -> None:
        self._fault.unlink(missing_ok=True)


class SmallDisk:
    """A file system of 16 MB that a ballast fills. Only root may mount one."""

    def __init__(self, directory: Path) -> None:
        self.place = directory / "small"
        self.place.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", self.place]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("needs the right to mount a tmpfs")

    def under(self, running: Engine) -> None:
        """Nothing to do: its data directory is there."""

    def fails(self, how: str, number: int) -> None:
        """Fill it to the last byte."""
        with contextlib.suppress(OSError), (self.place / "ballast").open("wb", 0) as ballast:
            while ballast.write(bytes(4096)):
                pass

    def is_well(self) -> None:
        (self.place / "ballast").unlink(missing_ok=True)

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", self.place], check=True)


@contextlib.contextmanager
def on_a_disk(
    tmp_path: Path, *options: str, small: bool = False
) -> Iterator[tuple[Disk | SmallDisk, Engine, StandIn]]:
    with contextlib.ExitStack() as stack:
        disk: Disk | SmallDisk
        if small:
            disk = SmallDisk(tmp_path)
            stack.callback(disk.unmount)
            data = disk.place / "data"
        else:
            disk, data = Disk(tmp_path), tmp_path / "data"
        api = stack.enter_context(stand_in(delay=0.003))
        running = Engine(EXAMPLES / "registry.py", data, api=api, options=options)
        disk.under(running)
        running.start()
        try:
            yield disk, running, api
        finally:
            disk.is_well()
            running.kill()


@pytest.mark.parametrize(
    ("how", "number", "told"),
    [
        ("sync", errno.EIO, "check the disk"),
        pytest.param("write", errno.EIO, "check the disk", marks=pytest.mark.long),
        ("write", errno.ENOSPC, "free some"),
        pytest.param("small", 0, "free some", marks=pytest.mark.long),
    ],
    ids=["sync fails", "write fails", "full", "a full file system"],
)
def test_it_goes_on_by_itself_once_the_disk_is_well(tmp_path: Path, how: str, number: int, told: str) -> None:
    """Meanwhile nothing is acknowledged, and the log says why. A crash in between brings nothing back."""

    async def happens() -> dict[str, int]:
        seen: dict[str, int] = {}
        for kill in (False, True):
            await asyncio.sleep(0.5)
            disk.fails(how, number)
            await asyncio.to_thread(running.process.wait_for, told, 60)
            await asyncio.sleep(0.5)
            if kill:
                await asyncio.to_thread(running.kill)
                remember(seen, await recorded_steps(running.data), await asyncio.to_thread(api.executions))
            disk.is_well()
            if kill:
                await asyncio.to_thread(running.start)
        await asyncio.sleep(0.5)
        return seen

    with on_a_disk(tmp_path, small=how == "small") as (disk, running, api):
        asyncio.run(under_load(running, api, 1, happens, ends=100))


def kill_at_syncs(
    disk: Disk | SmallDisk, running: Engine, api: StandIn, kills: list[tuple[str, int]]
) -> Awaitable[dict[str, int]]:
    async def happens() -> dict[str, int]:
        seen: dict[str, int] = {}
        for when, number in kills:
            disk.fails(when, number)
            await asyncio.to_thread(running.process.wait_for, "was killed by SIGKILL", 60)
            disk.is_well()
            await asyncio.to_thread(running.kill)
            remember(seen, await recorded_steps(running.data), await asyncio.to_thread(api.executions))
            await asyncio.to_thread(running.start)
        return seen

    return happens()


def kill_under_load(tmp_path: Path, kills: list[tuple[str, int]], *options: str) -> None:
    with on_a_disk(tmp_path, *options) as (disk, running, api):
        happens = lambda: kill_at_syncs(disk, running, api, kills)  # noqa: E731
        asyncio.run(under_load(running, api, 2, happens, ends=2 * len(kills)))


def test_killed_at_the_sync_of_a_commit(tmp_path: Path) -> None:
    kill_under_load(tmp_path, [("before", 5), ("after", 7), ("after", 30)])


@pytest.mark.long
def test_killed_at_the_sync_of_every_commit(tmp_path: Path) -> None:
    kill_under_load(tmp_path, [(when, number) for number in range(1, 41) for when in ("before", "after")])


@pytest.mark.long
def test_a_slow_disk_only_takes_longer(tmp_path: Path) -> None:
    async def happens() -> dict[str, int]:
        disk.fails("slow", 60)
        await asyncio.sleep(3)
        await asyncio.to_thread(running.kill)
        seen: dict[str, int] = {}
        remember(seen, await recorded_steps(running.data), await asyncio.to_thread(api.executions))
        await asyncio.to_thread(running.start)
        return seen

    with on_a_disk(tmp_path) as (disk, running, api):
        asyncio.run(under_load(running, api, 3, happens, ends=2))
