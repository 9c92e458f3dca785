"""The README's tour, typed line by line into a shell: every command runs, every output is as printed.

In expected output `…` stands for anything within a line, and alone on a line for any number of lines.
Commands that only read get a few seconds to show what is expected: a reader takes a few seconds to type them.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from rivetpy import Registry
from tests.support.engine import EXAMPLES, RIVET, ROOT, environment, kill_all

READING = ("cat ", "tail ", "rivet actors", "rivet call getState", "rivet history", "rivet state")
MARK = "\x1e"


@dataclass(frozen=True)
class Exchange:
    """A command of the tour and what it is said to print."""

    command: str
    expected: str


def exchanges(text: str) -> list[Exchange]:
    """The `console` blocks of a Markdown text: `$ command` lines, each with the output below it."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, expected = part.partition("\n")
            found.append(Exchange(command, expected))
    return found


def pattern(expected: str) -> str:
    """The regular expression that output has to match; spaces at the end of a line don't count."""
    lines = []
    for line in expected.splitlines():
        pieces = ".*".join(map(re.escape, line.rstrip().split("…")))
        lines.append("(?:.*\n)*" if line.strip() == "…" else f"{pieces} *\n")
    return "".join(lines)


class Shell:
    """One bash that stays open, with job control as in a terminal; only the engine's port is another one."""

    def __init__(self, folder: Path, env: dict[str, str], port: int) -> None:
        self.port = port
        self.popen = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-m"],
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, command: str) -> str:
        """What the command prints; a `rivet dev` in the background is waited for until it answers."""
        typed = command.replace(
            "rivet dev examples/registry.py", f"rivet dev examples/registry.py --port {self.port}"
        )
        shown = self.type(typed)
        if typed != command:
            self.wait_until_it_answers()
        return shown.replace(str(self.port), "6420")

    def type(self, command: str) -> str:
        assert self.popen.stdin is not None and self.popen.stdout is not None
        self.popen.stdin.write(f"{{ {command}\n}} 2>&1 </dev/null\necho {MARK}\n")
        self.popen.stdin.flush()
        shown = ""
        for line in self.popen.stdout:
            shown += line
            if MARK in line:
                return shown.replace(f"{MARK}\n", "")
        raise AssertionError(f"the shell ended at {command!r}:\n{shown}")

    def wait_until_it_answers(self) -> None:
        for _ in range(600):
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"http://127.0.0.1:{self.port}/health", timeout=30).raise_for_status()
                return
            time.sleep(0.05)
        raise AssertionError("rivet dev did not come up:\n" + self.type("cat *.log"))

    def close(self) -> None:
        kill_all([int(job) for job in self.type("jobs -p").split()])
        assert self.popen.stdin is not None and self.popen.stdout is not None
        self.popen.stdin.close()
        self.popen.wait(10)
        self.popen.stdout.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A shell in a directory with the examples and a `.venv` as after the install."""
    shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name, command in {"rivet": RIVET, "python": [sys.executable]}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        (programs / name).chmod(0o755)
    (programs / "activate").write_text(f"export PATH={shlex.quote(str(programs))}:$PATH\n")

    port = free_port()
    env = environment(RIVET_DATA_DIR=str(tmp_path / "data"), RIVET_ENDPOINT=f"http://127.0.0.1:{port}")
    opened = Shell(tmp_path, env, port)
    try:
        yield opened
    finally:
        opened.close()


def test_the_tour_prints_what_the_readme_says(shell: Shell) -> None:
    tour = exchanges((ROOT / "README.md").read_text())
    assert len(tour) > 10 and any("kill -9" in exchange.command for exchange in tour)
    for exchange in tour:
        deadline = time.monotonic() + 10
        shown = shell.run(exchange.command)
        while not re.fullmatch(pattern(exchange.expected), shown) and exchange.command.startswith(READING):
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
            shown = shell.run(exchange.command)
        assert re.fullmatch(pattern(exchange.expected), shown), (
            f"$ {exchange.command}\n{shown}\nbut the README says:\n{exchange.expected}"
        )


def test_the_first_code_of_the_readme_is_a_registry() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    registry = names["registry"]
    assert isinstance(registry, Registry) and registry.actors["shop"].has_workflow


def test_dots_stand_for_what_differs_and_nothing_else() -> None:
    assert re.fullmatch(pattern("took … ms\n"), "took 12 ms\n")
    assert re.fullmatch(pattern("a\n…\nz\n"), "a\nb\nc\nz\n")
    assert not re.fullmatch(pattern("took … ms\n"), "took 12 s\n")
    assert not re.fullmatch(pattern("a\n"), "a\nb\n")
