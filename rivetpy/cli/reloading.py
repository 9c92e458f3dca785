"""What `rivet dev` watches, and what it makes of what its children say they imported."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rivetpy.cli.hints import SAVED, Hints, Wished
from rivetpy.cli.launch import Launch, Report
from rivetpy.cli.saves import Saves, folders_of
from rivetpy.config import RegistryError, RegistryRef

#: Seconds between two looks at the files when the file system gives no hint: some never do.
LOOK_PERIOD = 1.0


class Reloading:
    """Tells when the code should be imported anew. ``named`` is the registry's path as it was named, maybe a link,
    and ``find`` finds where that leads now."""

    def __init__(self, named: Path, find: Callable[[], RegistryRef], wished: Wished) -> None:
        self.saves = Saves()
        self._named, self._find = named, find
        self._hints = Hints(wished)
        self.descriptor = self._hints.descriptor
        self._looked = time.monotonic()

    def heard(self, report: Report) -> None:
        """A child has said which files count."""
        files = {*report.get("files", ()), str(self._named)}
        if "imported" in report:
            self.saves.watch(files)
        elif "since" in report:
            self.saves.watch(files | self.saves.files, self.saves.folders, report["since"])
        elif "folders" in report:
            self.saves.watch(files | self.saves.files, report["folders"])
        elif "ready" not in report:
            return
        if "imported" not in report:  # but when it serves: the start of a watch would hold that up
            self._hints.watch(folders_of(self.saves))

    def look(self, now: float) -> None:
        """Look at the files if there is reason to."""
        hints = self._hints.read()
        if SAVED in hints:
            self.saves.note(now)
        if hints or now - self._looked >= LOOK_PERIOD or self.saves.waiting_since is not None:
            self.saves.look(now)
            self._looked = now

    def patience(self, now: float) -> float:
        """Seconds until there is something to do, if there is no hint before."""
        due = self.saves.due(now)
        return self._looked + LOOK_PERIOD - now if due is None else due

    def relocated(self, launch: Launch) -> Launch:
        """The task for where the registry's name leads now."""
        with contextlib.suppress(RegistryError):
            return replace(launch, registry=self._find())
        return launch

    def close(self) -> None:
        """Watch no more."""
        self._hints.close()
