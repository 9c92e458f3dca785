"""The three typed lines, from a directory that has a registry.py and a name with a space and an umlaut."""

from __future__ import annotations

import json
import re
import shutil
import time
from pathlib import Path

from tests.support.engine import EXAMPLES, Engine, engine

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
