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
from dataclasses import dataclass
from pathlib import Path

import platformdirs

#: Seconds after which a row of a peer counts as not finished.
PATIENCE = 180
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Peer:
    """What to install, and the script that does the rows' work with it."""

    title: str
    script: str
    rows: tuple[str, ...]
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

    def measure(self, row: str, directory: Path) -> float | None:
        """The row's figure; None when it did not come to its end in time."""
        if row == "resume":
            if self._until("ready", row, directory) is None:
                return None
            again = self._until("again", row, directory)
            return again and again[0]
        done = self._until("figure", row, directory)
        return done and done[0 if row == "cold-start" else 1]

    def _until(self, word: str, row: str, directory: Path) -> tuple[float, float] | None:
        """Let the script work until it says the word, then kill it and all it started; the seconds that took, and
        the number that was said with the word."""
        begin = time.perf_counter()
        running = self._start(row, directory)
        cut = threading.Timer(PATIENCE, _kill, [running])
        cut.start()
        try:
            assert running.stdout is not None
            for line in running.stdout:
                said, _, number = line.strip().partition(" ")
                if said == word:
                    return time.perf_counter() - begin, float(number or 0)
            return None
        finally:
            cut.cancel()
            _kill(running)

    def _start(self, row: str, directory: Path) -> subprocess.Popen[str]:
        home = self.home()
        script = FOLDER / self.script
        command = [str(home / "venv/bin/python"), str(script)]
        if script.suffix == ".mjs":  # node looks for packages beside the script
            copy = home / self.script
            copy.write_text(script.read_text())
            command = ["node", str(copy)]
        with (directory / "errors.log").open("ab") as errors:
            return subprocess.Popen(
                [*command, str(directory), row],
                env={**os.environ, "PEER_HOME": str(home)},
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )


def _kill(running: subprocess.Popen[str]) -> None:
    """SIGKILL to the script and whatever it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
    running.wait()
