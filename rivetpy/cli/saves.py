"""Which files a reload depends on, and when enough has been saved to begin one. No clock and no events of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: Seconds of quiet after a save before it is taken up: editors and checkouts save many files at once.
QUIET = 0.06
#: Seconds after the first save at which it is taken up although there is no quiet.
LONGEST = 1.0
#: Folders whose content is never anybody's source.
_NEVER = frozenset({"__pycache__", "node_modules"})

#: What changes whenever a file is saved: its content's time, the time of its entry, its size, which file it is.
Stamp = tuple[int, int, int, int] | None


def stamp(path: str) -> Stamp:
    """How a file looks now; None when it isn't there."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a thousand of them, every second
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _changed_after(path: str, moment_ns: int) -> bool:
    found = stamp(path)
    return found is not None and found[0] > moment_ns


def entries(folder: str) -> Iterator[tuple[str, Stamp]]:
    """The source files in a folder, and the folders that may hold more."""
    try:
        with os.scandir(folder) as found:
            for entry in found:
                if entry.name.endswith(".py"):
                    yield entry.path, stamp(entry.path)
                elif entry.is_dir() and entry.name not in _NEVER and not entry.name.startswith("."):
                    # That it is there; its times change with whatever is in it.
                    yield entry.path, (0, 0, 0, 0)
    except OSError:
        return


@dataclass(slots=True)
class Saves:
    """Compares the files that matter with how they looked when the newest import began: so no save is ever missed,
    however it was made and whenever it came, and nothing else ever counts."""

    #: The user's files that were imported, by name; both names of a file behind a symbolic link.
    files: frozenset[str] = frozenset()
    #: After an import that failed: folders where a new file may mend it.
    folders: frozenset[str] = frozenset()
    _seen: dict[str, Stamp] = field(default_factory=dict)
    _began_ns: int = 0
    _first: float | None = None
    _last: float = 0.0

    def watch(self, files: Iterable[str], folders: Iterable[str] = (), since_ns: int | None = None) -> None:
        """What matters from now on. A file that did not matter before counts as saved when that was after the last
        `begin`, or ``since_ns``: it may have been read before."""
        self.files = frozenset(name for file in files for name in (file, os.path.realpath(file)))
        self.folders = frozenset(folders)
        now = self._look()
        since = self._began_ns if since_ns is None else since_ns
        self._seen.update(
            (name, now[name]) for name in now.keys() - self._seen.keys() if not _changed_after(name, since)
        )
        self._seen = {name: looks for name, looks in self._seen.items() if name in now}

    def look(self, now: float) -> None:
        """Look whether something was saved since the last look (``now`` in seconds, any clock that never goes back)."""
        found = self._look()
        if found != self._seen:
            self._seen = found
            self.note(now)

    def note(self, now: float) -> None:
        """Something was saved."""
        self._last = now
        if self._first is None:
            self._first = now

    @property
    def waiting_since(self) -> float | None:
        """When the first save came that no import has seen; None when there is none."""
        return self._first

    def due(self, now: float) -> float | None:
        """Seconds until an import should begin, 0 when it should now; None when there is nothing new."""
        if self._first is None:
            return None
        return max(0.0, min(self._last + QUIET, self._first + LONGEST) - now)

    def begin(self, now_ns: int) -> None:
        """An import begins: it will see everything that is saved by now (``now_ns`` is the wall clock's)."""
        self._first = None
        self._began_ns = now_ns
        self._seen = self._look()

    def _look(self) -> dict[str, Stamp]:
        found = {name: stamp(name) for name in self.files}
        for folder in self.folders:
            found.update(entries(folder))
        return found


def folders_of(saves: Saves) -> set[str]:
    """The folders in which something that matters may be saved."""
    return {str(Path(file).parent) for file in saves.files} | saves.folders
