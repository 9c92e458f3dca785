"""One process owns a data directory at a time: a lock that the kernel drops with its last holder.

It is a `flock` on ``<directory>/lock``, so a dead owner needs no clean-up: whoever comes next just gets it.
A child that is handed the file descriptor (``pass_fds``) holds it too: until parent *and* child are gone. Other
children don't get it, or a daemon that a step started would keep the directory for ever.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Self

from rivetpy.errors import StoreError
from rivetpy.store.trouble import trouble

FILE_NAME = "lock"

#: A reader of the lock holds it for microseconds, and an owner writes its name just after it got it: how
#: often to try again, and how long to wait in between (seconds), before believing what was seen.
_TRIES = 20
_PAUSE = 0.005


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a data directory, where it listens, and since when (epoch milliseconds)."""

    pid: int
    port: int
    host: str
    started_at: int

    @property
    def since(self) -> str:
        """The start as local time."""
        return datetime.fromtimestamp(self.started_at / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")


class DataLock:
    """The right to write in a data directory, while ``fd`` is open here or in a child that inherited it."""

    def __init__(self, fd: int, owner: Owner) -> None:
        """Use `acquire`."""
        self.fd = fd
        self.owner = owner

    @classmethod
    def acquire(cls, directory: Path, port: int, host: str = "127.0.0.1") -> Self:
        """Make the directory if needed (0700), check that it can be written to, and take it.

        Raises `StoreError`: ``in_use`` with the owner and the ways out, ``not_writable``, ``disk_full``.
        """
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            probe(directory)
            fd = os.open(directory / FILE_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise trouble(directory, error) from error
        lock = cls(fd, Owner(os.getpid(), port, host, time.time_ns() // 1_000_000))
        try:
            if not _try_lock(fd, fcntl.LOCK_EX, _TRIES):
                raise _in_use(directory, _read_patiently(fd))
            lock.update()
        except OSError as error:
            lock.release()
            raise trouble(directory / FILE_NAME, error) from error
        except StoreError:
            lock.release()
            raise
        return lock

    def update(self, port: int | None = None) -> None:
        """Write down who holds the lock; the port is known once the socket is bound."""
        if port is not None:
            self.owner = replace(self.owner, port=port)
        text = json.dumps(asdict(self.owner)).encode() + b"\n"
        os.pwrite(self.fd, text, 0)
        os.ftruncate(self.fd, len(text))

    def release(self) -> None:
        """Let go of it here; children that inherited it keep it (so this closes, and never unlocks)."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def read_owner(directory: Path) -> Owner | None:
    """Who holds the directory now; None when nobody does."""
    try:
        fd = os.open(directory / FILE_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise trouble(directory / FILE_NAME, error) from error
    try:
        return None if _try_lock(fd, fcntl.LOCK_SH) else _read_patiently(fd)
    finally:
        os.close(fd)


def _try_lock(fd: int, kind: int, tries: int = 1) -> bool:
    for left in reversed(range(tries)):
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if left:
                time.sleep(_PAUSE)
        else:
            return True
    return False


def _read_patiently(fd: int) -> Owner | None:
    for _ in range(_TRIES):
        try:
            return Owner(**json.loads(os.pread(fd, 4096, 0)))
        except (ValueError, TypeError):
            time.sleep(_PAUSE)
    return None


def probe(directory: Path) -> None:
    """Create and sync a file: the only honest answer to whether that can be done. Raises OSError."""
    with tempfile.TemporaryFile(dir=directory) as file:
        file.write(b"?")
        file.flush()
        os.fsync(file.fileno())


def _in_use(directory: Path, owner: Owner | None) -> StoreError:
    who = f"process {owner.pid} on port {owner.port} since {owner.since}" if owner else "another process"
    return StoreError(
        "in_use",
        f"{directory} is in use by {who}. Stop that one, or start this one with --data-dir DIR and --port N.",
    )
