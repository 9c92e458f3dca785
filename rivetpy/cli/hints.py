"""What the file system says of its own accord, so that a save is noticed at once and not at the next look."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

#: Milliseconds without another event before a hint is given, and how long it may be put off by further ones.
STEP, DEBOUNCE = 25, 200
#: Bytes in the pipe: something happened where source files are; something that was asked for was saved.
LOOK, SAVED = b"l", b"s"
#: Of what is watched by wish, what is nobody's source: our journals, others', logs, and what tools leave behind.
_NEVER = (r"\.log(\.\d+)?$", r"\.(db|sqlite3?)(-wal|-shm|-journal)?$")
_WILD = re.compile(r"[*?\[]")
#: File systems whose files other machines, or the host of this one, change without an event here.
_SILENT = frozenset(
    {"9p", "cifs", "drvfs", "fuse.sshfs", "nfs", "nfs4", "prl_fs", "smb3", "vboxsf", "virtiofs"}
)
_MOUNTS = Path("/proc/mounts")


class Wished:
    """What ``--watch`` names: directories with all that is in them, and patterns, in which ``*`` crosses folders."""

    def __init__(self, texts: Iterable[str], cwd: Path, data_dir: Path) -> None:
        paths = [os.path.abspath(cwd / Path(text).expanduser()) for text in texts]  # noqa: PTH100 - keeps links
        self._patterns = [path if _WILD.search(path) else f"{path}/*" for path in paths]
        self._patterns += [path for path in paths if not _WILD.search(path)]
        #: The directories to watch, with all below them.
        self.roots = frozenset(map(_fixed_part, paths))
        self._data_dir = data_dir

    def filter(self) -> Callable[[object, str], bool]:
        """Whether a change of a path is a save of something wished."""
        from watchfiles import DefaultFilter

        ignored = (*DefaultFilter.ignore_dirs, "venv", ".nox", ".ruff_cache")
        patterns = (*DefaultFilter.ignore_entity_patterns, *_NEVER)
        usual = DefaultFilter(
            ignore_dirs=ignored, ignore_entity_patterns=patterns, ignore_paths=[self._data_dir]
        )
        return lambda change, path: (
            any(fnmatch.fnmatch(path, pattern) for pattern in self._patterns) and usual(change, path)  # type: ignore[arg-type]
        )


def _fixed_part(path: str) -> str:
    """The directory before the first part that is a pattern."""
    fixed = path
    while _WILD.search(fixed):
        fixed = os.path.dirname(fixed)  # noqa: PTH120
    return fixed


def is_silent(path: str, mounts: str) -> bool:
    """Whether a path is on a file system that gives no events; ``mounts`` as in /proc/mounts."""
    kinds = {}
    for line in mounts.splitlines():
        _, point, kind, *_ = line.split()
        kinds[point.replace("\\040", " ")] = kind
    above = (str(each) for each in (Path(path), *Path(path).parents))
    return next((kinds[point] for point in above if point in kinds), "") in _SILENT


def _must_poll(folders: Iterable[str]) -> bool | None:
    """None: the library decides, which obeys WATCHFILES_FORCE_POLLING."""
    try:
        mounts = _MOUNTS.read_text("utf-8", "replace")
    except OSError:  # not Linux
        return None
    return any(is_silent(os.path.realpath(folder), mounts) for folder in folders) or None


class Hints:
    """Watches folders in threads of its own; ``descriptor`` can be read when there is a hint."""

    def __init__(self, wished: Wished) -> None:
        self._wished = wished
        self.descriptor, self._write = os.pipe()
        os.set_blocking(self.descriptor, False)
        os.set_blocking(self._write, False)
        self._ended = threading.Event()
        if wished.roots:
            self._start(filter(os.path.exists, wished.roots), SAVED, self._ended, recursive=True)
        self._stale = threading.Event()
        self._folders: frozenset[str] = frozenset()
        self._watcher: threading.Thread | None = None

    def watch(self, folders: Iterable[str]) -> None:
        """Watch these, without what is below them, and no longer those before."""
        wanted = frozenset(filter(os.path.exists, folders))
        if wanted == self._folders and self._watcher is not None and self._watcher.is_alive():
            return  # to begin anew would be deaf for a moment
        self._stale.set()
        self._stale, self._folders = threading.Event(), wanted
        self._watcher = self._start(wanted, LOOK, self._stale, recursive=False)

    def read(self) -> bytes:
        """The hints since the last time."""
        try:
            return os.read(self.descriptor, 4096)
        except BlockingIOError:
            return b""

    def close(self) -> None:
        """Watch no more."""
        self._ended.set()
        self._stale.set()

    def _start(
        self, folders: Iterable[str], hint: bytes, end: threading.Event, *, recursive: bool
    ) -> threading.Thread:
        thread = threading.Thread(
            target=self._listen, args=(sorted(folders), hint, end, recursive), name="rivet-watch", daemon=True
        )
        thread.start()
        return thread

    def _listen(self, folders: list[str], hint: bytes, end: threading.Event, recursive: bool) -> None:
        """Until ``end``. A file system that gives no events is polled by the library."""
        import watchfiles

        wanted = self._wished.filter() if recursive else None
        with contextlib.suppress(OSError, RuntimeError):
            for _ in watchfiles.watch(
                *folders,
                watch_filter=wanted,
                debounce=DEBOUNCE,
                step=STEP,
                stop_event=end,
                recursive=recursive,
                ignore_permission_denied=True,
                raise_interrupt=False,
                force_polling=_must_poll(folders),
            ):
                with contextlib.suppress(BlockingIOError):
                    os.write(self._write, hint)
