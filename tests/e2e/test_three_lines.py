"""The three typed lines, from a directory that has a registry.py and a name with a space and an umlaut."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from rivetpy.config.places import endpoint_of
from tests.support.engine import EXAMPLES, RIVET, Engine, engine, environment

COUNTER = """
from counter import workflow_counter
from rivetpy import setup

registry = setup(use={"workflowCounter": workflow_counter})
"""


def project(directory: Path) -> Path:
    folder = directory / "mein Zähler"
    folder.mkdir()
    for name in ("counter.py", "remote.py", "api.py"):
        shutil.copy(EXAMPLES / name, folder)
    (folder / "registry.py").write_text(COUNTER)
    return folder


def wait_for_value(running: Engine, value: int, patience: float = 20) -> dict[str, object]:
    deadline = time.monotonic() + patience
    while (state := json.loads(running.rivet("state", "workflowCounter", "main", "--json")))[
        "value"
    ] != value:
        assert time.monotonic() < deadline, state
    return dict(state)


def test_the_three_lines_work_as_typed(tmp_path: Path) -> None:
    folder = project(tmp_path)
    # rivet dev registry.py
    with engine(Path("registry.py"), tmp_path / "data", cwd=folder) as running:
        # The other two find the engine by what the first left in the data directory.
        running.rivet("send", "counter", '<"delta":1>', endpoint=False)
        wait_for_value(running, 1)
        told = running.rivet("history", "workflowCounter", "main", endpoint=False)
        assert re.search(r"apply-counter-command", told) and re.search(r"wait-counter-command", told)

        for body in ('{"delta": 2}', "delta:=3"):
            running.rivet("send", "counter", body, endpoint=False)
        wait_for_value(running, 6)


def test_the_registry_is_found_by_itself(tmp_path: Path) -> None:
    folder = project(tmp_path)
    running = Engine(Path("registry.py"), tmp_path / "data", cwd=folder)
    running.arguments = []
    try:
        running.start()
        running.rivet("send", "counter", '<"delta":4>', endpoint=False)
        wait_for_value(running, 4)
    finally:
        running.kill()


def with_closed(streams: str, *args: str) -> list[str]:
    """A command as a service manager, or ``>&-``, starts it."""
    return ["/bin/sh", "-c", f"exec {shlex.join([*RIVET, *args])} {streams}"]


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_command_with_closed_streams(streams: str) -> None:
    command = with_closed(streams, "completions", "bash")
    ended = subprocess.run(command, env=environment(), capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_an_engine_with_closed_streams(tmp_path: Path) -> None:
    data = tmp_path / "data"
    command = with_closed(
        "<&- >&-", "dev", str(project(tmp_path) / "registry.py"), "--port", "0", "--data-dir", str(data)
    )
    process = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 20
        answer = None
        while answer is None and process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(httpx.HTTPError):
                answer = (
                    httpx.get(f"{endpoint_of(data)}/health", trust_env=False) if endpoint_of(data) else None
                )
            time.sleep(0.1)
    finally:
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert b"Traceback" not in told
    assert answer is not None and answer.status_code == 200, told
