"""The parent of `rivet dev`: keeps a child running the user's code, and ends it cleanly when asked to."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from rivetpy.cli.launch import Launch, Report
from rivetpy.cli.problems import FAILED, INTERRUPTED, StartProblem
from rivetpy.cli.signals import ENDING, Signals
from rivetpy.cli.text import visible

#: Seconds a child may take to put its actors away and close its store.
GRACE = 20.0
#: Seconds before a child that died is replaced: the first pause, and the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 10.0
#: A child that lived so long (seconds) died for a new reason: the pauses begin anew.
HEALTHY = 30.0


class Child:
    """One process that runs the user's code. It ends by itself when the parent is gone."""

    def __init__(self, launch: Launch) -> None:
        alive_read, self._alive = os.pipe()
        self.reports, report_write = os.pipe()
        os.set_blocking(self.reports, False)
        launch = replace(launch, alive_fd=alive_read, report_fd=report_write)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-P", "-m", "rivetpy.cli.child", launch.to_argument()],
                stdin=subprocess.DEVNULL,
                pass_fds=launch.fds,
                process_group=0,  # a terminal's Ctrl-C is for the parent, which then ends the child cleanly
            )
        finally:
            os.close(alive_read)
            os.close(report_write)
        self.started = time.monotonic()
        #: Whether it may still report something.
        self.talking = True
        self._rest = b""

    @property
    def code(self) -> int | None:
        """Its exit code, a signal's number below 0, None while it runs."""
        return self._process.poll()

    def read_reports(self) -> Iterator[Report]:
        """What it has reported since the last time."""
        try:
            data = os.read(self.reports, 1 << 20)
        except BlockingIOError:
            return
        self.talking = bool(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        yield from map(json.loads, lines)

    def announced(self) -> None:
        """Let it print: whoever reads knows by now what it belongs to."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._alive, b".")

    def end(self) -> None:
        """Ask it to put its actors away and leave."""
        self._process.terminate()

    def kill(self) -> None:
        """End it and what it started, at once; what was committed stays."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Let go of the pipes, and be sure that it is gone."""
        os.close(self._alive)
        os.close(self.reports)
        if self.code is None:
            self.kill()
        self._process.wait()


@dataclass(slots=True)
class Supervisor:
    """Runs children, one after the other, until somebody asks it to end."""

    launch: Launch
    #: Called with the actors that the first child reports, as soon as that one is ready.
    announce: Callable[[Report], None]
    _actors: Report = field(default_factory=dict)
    _announced: bool = False
    _failure: StartProblem | None = None
    #: How often somebody asked to end.
    _asked: int = 0

    def run(self) -> int:
        """The exit code. Raises StartProblem when a child says that it can't start."""
        pause = FIRST_PAUSE
        with Signals() as signals:
            while True:
                code, lived = self._run_child(signals)
                if self._asked:
                    return self._code_after_asking(code)
                if self._failure is not None:
                    raise self._failure
                pause = FIRST_PAUSE if lived > HEALTHY else pause
                say(f"the engine {how_it_ended(code)}; nothing is lost, it starts again in {pause:g} s")
                if self._pause(signals, pause):
                    return 0
                pause = min(pause * 2, LONGEST_PAUSE)

    def _code_after_asking(self, code: int) -> int:
        if self._asked > 1:
            return INTERRUPTED
        # A child that was still importing knows no better end than the signal's own.
        return 0 if code in {0, -signal.SIGTERM} else FAILED

    def _run_child(self, signals: Signals) -> tuple[int, float]:
        """Start one and wait for its end; its exit code, and how long it lived (seconds)."""
        self._actors = {}
        child = Child(self.launch)
        try:
            self._watch(child, signals)
        finally:
            child.close()
        code = child.code or 0
        if not self._actors and self._failure is None and not self._asked:
            self._failure = StartProblem(f"{self.launch.registry.path.name} {how_it_ended(code)} at import")
        return code, time.monotonic() - child.started

    def _watch(self, child: Child, signals: Signals) -> None:
        deadline: float | None = None
        while child.code is None:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            came, _ = signals.wait(left, [child.reports] if child.talking else [])
            self._hear(child)
            for _ in ENDING.intersection(came):
                deadline = self._end(child)
            if deadline is not None and time.monotonic() >= deadline:
                say(f"it did not end within {GRACE:g} s and is killed; nothing is lost")
                child.kill()
                deadline = None
        self._hear(child)

    def _hear(self, child: Child) -> None:
        for report in child.read_reports():
            if "failed" in report:
                self._failure = StartProblem(report["failed"], report["detail"])
            elif "imported" in report:
                self._actors = report["imported"]
            elif not self._announced:
                self._announced = True
                self.announce(self._actors)
                child.announced()
            else:
                say("the engine runs again")
                child.announced()

    def _end(self, child: Child) -> float:
        """The first time ask it to end, the second time end it; returns when patience is over."""
        self._asked += 1
        if self._asked == 1:
            say("stopping (Ctrl-C again: at once)")
            child.end()
        else:
            child.kill()
        return time.monotonic() + GRACE

    def _pause(self, signals: Signals, seconds: float) -> bool:
        """Wait; True when somebody asked to end meanwhile."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if ENDING.intersection(signals.wait(left)[0]):
                return True
        return False


def how_it_ended(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def say(text: str) -> None:
    """A line of the parent's own, apart from what the child prints. A terminal that is gone is no reason to end."""
    with contextlib.suppress(OSError):
        print(f"rivet: {visible(text)}", file=sys.stderr, flush=True)
