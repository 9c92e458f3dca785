"""Another system at work: installed once into a cache of the user's, run in processes that are killed at the end."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

#: Seconds after which one round of a peer's row counts as not finished.
PATIENCE = 60
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Peer:
    """What to install, and the script that does the rows' work with it."""

    title: str
    script: str
    #: Each row's units of work, such as messages: fewer than ours where they take long.
    rows: Mapping[str, int]
    pip: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()

    def home(self) -> Path:
        """The folder with what is installed; made when there is none."""
        wanted = " ".join((*self.pip, *self.npm, sys.version))
        digest = hashlib.sha256(wanted.encode()).hexdigest()[:12]
        folder = platformdirs.user_cache_path("rivetpy-benchmarks") / f"{Path(self.script).stem}-{digest}"
        if not (folder / "done").exists():
            print(f"installing {self.title} into {folder}", file=sys.stderr)
            folder.mkdir(parents=True, exist_ok=True)
            self._install(folder)
            (folder / "done").touch()
        return folder

    def _install(self, folder: Path) -> None:
        if self.pip:
            subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
            subprocess.run([folder / "venv/bin/pip", "install", "-q", *self.pip], check=True)
        if self.npm:
            (folder / "package.json").write_text('{"private": true, "type": "module"}')
            npm = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *self.npm]
            subprocess.run(npm, cwd=folder, check=True, stdout=subprocess.DEVNULL)

    def measure(self, row: str, directory: Path) -> float:
        """The row's figure.

        :raises TimeoutError: it did not come to its end in time.
        :raises RuntimeError: it ended without a figure; ``errors.log`` in the directory says more.
        """
        if row == "resume":
            self._until("ready", row, directory)
            return self._until("again", row, directory)[0]
        return self._until("figure", row, directory)[0 if row == "cold-start" else 1]

    def _until(self, word: str, row: str, directory: Path) -> tuple[float, float]:
        """Let the script work until it says the word, then kill it and all it started; the seconds that took, and
        the number that was said with the word."""
        home = self.home()
        begin = time.perf_counter()
        with self._start(home, row, directory) as running:
            cut = threading.Timer(PATIENCE, _kill, [running, directory])
            cut.start()
            try:
                assert running.stdout is not None
                for line in running.stdout:
                    said, _, number = line.strip().partition(" ")
                    if said == word:
                        return time.perf_counter() - begin, float(number or 0)
            finally:
                cut.cancel()
                _kill(running, directory)
        if time.perf_counter() - begin >= PATIENCE:
            raise TimeoutError
        raise RuntimeError((directory / "errors.log").read_text(errors="replace")[-2000:])

    def _start(self, home: Path, row: str, directory: Path) -> subprocess.Popen[str]:
        script = FOLDER / self.script
        command = [str(home / "venv/bin/python"), str(script)]
        if script.suffix == ".mjs":  # node looks for packages beside the script
            copy = home / self.script
            copy.write_text(script.read_text())
            command = ["node", str(copy)]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("RIVET", "DBOS", "TEMPORAL"))}
        with (directory / "errors.log").open("ab") as errors:
            return subprocess.Popen(
                [*command, str(directory), row, str(self.rows[row])],
                env={**kept, "PEER_HOME": str(home), "HOME": str(directory)},
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )


def _kill(running: subprocess.Popen[str], home: Path) -> None:
    """SIGKILL to the script and whatever it started; what left its group is known by its home."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
    mark = f"HOME={home}".encode()
    unseen = 0
    while unseen < 2:  # a process that is just being executed has an empty environment for a moment
        unseen = 0 if _kill_marked(mark) else unseen + 1


def _kill_marked(mark: bytes) -> bool:
    """SIGKILL to whatever has this in its environment; whether there was anything."""
    found = False
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)
                found = True
    return found
