"""A real `rivet dev` process and a real stand-in service, for tests that want the whole thing."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
#: The command as the console script runs it, also where the project is not installed.
RIVET = [
    sys.executable,
    "-c",
    "import sys; sys.argv[0] = 'rivet'; from rivetpy.cli.app import main; sys.exit(main())",
]
ADDRESS = re.compile(r"http://[\w.\[\]:-]+:(\d+)")


def environment(**more: str) -> dict[str, str]:
    """This process's environment without settings of a developer's own, with the checkout importable. Bytecode is
    kept, as on a user's machine, so that not every process compiles the whole package again."""
    own = ("RIVET_", "EXAMPLE_", "PYTHONDONTWRITEBYTECODE")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(own)}
    return {**kept, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "120", **more}


def family(pid: int) -> list[int]:
    """A process and all that descend from it, children first."""
    shown = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
    parents = [tuple(map(int, line.split())) for line in shown.stdout.splitlines()]

    def below(ancestor: int) -> list[int]:
        return [each for child, parent in parents if parent == ancestor for each in [*below(child), child]]

    return [*below(pid), pid]


def kill_all(pids: Sequence[int]) -> None:
    """SIGKILL to each, one right after the other."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class Process:
    """A process in a group of its own whose output is collected and that can be killed without mercy."""

    def __init__(self, command: Sequence[str], cwd: Path, env: dict[str, str]) -> None:
        self.popen = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.output: list[str] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            with self._news:
                self.output.append(line)
                self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def wait_for(self, pattern: str | re.Pattern[str], patience: float = 30) -> re.Match[str]:
        """The first match in the output so far or to come; fails with the output when there is none."""
        deadline = time.monotonic() + patience
        with self._news:
            while not (found := re.search(pattern, "".join(self.output))):
                if not self._reader.is_alive() or not self._news.wait(max(0, deadline - time.monotonic())):
                    break
        assert found, f"no {pattern!r} in:\n{''.join(self.output)}"
        return found

    def kill(self) -> None:
        """SIGKILL to the process and its descendants; returns when all that shared its output are gone."""
        if self.popen.poll() is None:
            kill_all(family(self.popen.pid))
        self._end()

    def kill_parent(self) -> None:
        """SIGKILL to the process alone; its descendants have to end by themselves."""
        kill_all([self.popen.pid])
        self._end()

    def interrupt(self, patience: float = 20) -> int:
        """Ctrl-C: SIGINT to the whole group, as a terminal sends it; returns the exit code."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGINT)
        try:
            self.popen.wait(patience)
        finally:
            self.kill()
        return self.popen.returncode

    def _end(self) -> None:
        self.popen.wait(10)
        self._reader.join(10)
        assert not self._reader.is_alive(), "a descendant of the process outlived it"
        assert self.popen.stdout is not None
        self.popen.stdout.close()


class StandIn:
    """`examples/api.py` as a process of its own: it survives the engine and remembers what it was asked."""

    def __init__(self, delay: float = 0.0) -> None:
        command = [sys.executable, str(EXAMPLES / "api.py"), "--delay", str(delay)]
        self.process = Process(command, EXAMPLES, environment())
        self.url = self.process.wait_for(ADDRESS).group()

    def log(self) -> list[dict[str, Any]]:
        """Every request so far: method, path, key, body, reply, repeated."""
        requests: list[dict[str, Any]] = httpx.get(f"{self.url}/log", timeout=20).json()["requests"]
        return requests

    def executions(self) -> Counter[str]:
        """How often each idempotency key was seen: how often that step's body really ran."""
        return Counter(request["key"] for request in self.log() if request["key"])


class Engine:
    """`rivet dev` of one registry over one data directory; may be killed and started again."""

    def __init__(
        self,
        registry: Path,
        data: Path,
        *,
        api: StandIn | None = None,
        options: Sequence[str] = (),
        cwd: Path | None = None,
        verb: str = "dev",
    ) -> None:
        self.verb = verb
        #: What `rivet dev` is given; empty: it finds the registry by itself.
        self.arguments = [str(registry)]
        self.data = data
        self.options = list(options)
        self.cwd = cwd or registry.parent
        self.env = environment(RIVET_DATA_DIR=str(data), **({"EXAMPLE_API_URL": api.url} if api else {}))
        self.port = 0
        self.process: Process

    def start(self) -> Engine:
        """Starts the process and waits until it answers."""
        self.spawn()
        return self.ready()

    def spawn(self) -> None:
        """Starts the process only. The port stays the same from the first start on."""
        command = [*RIVET, self.verb, *self.arguments, "--port", str(self.port), *self.options]
        self.process = Process(command, self.cwd, self.env)

    def ready(self) -> Engine:
        """Waits until the process answers."""
        try:
            self.port = int(self.process.wait_for(ADDRESS).group(1))
            httpx.get(f"{self.url}/health", timeout=30).raise_for_status()
        except BaseException:
            self.process.kill()
            raise
        return self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def output(self) -> str:
        return "".join(self.process.output)

    def kill(self) -> None:
        """SIGKILL to both processes of `rivet dev`."""
        self.process.kill()

    def kill_parent(self) -> None:
        """SIGKILL to the one that holds the socket."""
        self.process.kill_parent()

    def kill_child(self) -> None:
        """SIGKILL to the one that runs the actors; the other one starts it again."""
        kill_all(family(self.process.popen.pid)[:-1])

    def rivet(self, *args: str, code: int = 0, stdin: str = "", endpoint: bool = True) -> str:
        """Runs a `rivet` command against this engine and returns its stdout; fails on another exit code."""
        env = {**self.env, "RIVET_ENDPOINT": self.url} if endpoint else self.env
        done = subprocess.run(
            [*RIVET, *args],
            cwd=self.cwd,
            env=env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, (
            f"rivet {args} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        )
        return done.stdout if code == 0 else done.stderr

    def script(self, name: str, *args: str) -> str:
        """Runs one of the examples' client scripts against this engine and returns its stdout."""
        done = subprocess.run(
            [sys.executable, str(EXAMPLES / name), *args],
            cwd=ROOT,
            env={**self.env, "RIVET_ENDPOINT": self.url},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@contextlib.contextmanager
def stand_in(delay: float = 0.0) -> Iterator[StandIn]:
    service = StandIn(delay)
    try:
        yield service
    finally:
        service.process.kill()


@contextlib.contextmanager
def engine(registry: Path, data: Path, **options: Any) -> Iterator[Engine]:
    """A started engine that is killed at the end, whatever happened."""
    running = Engine(registry, data, **options).start()
    try:
        yield running
    finally:
        running.kill()
