"""The three workflows of the examples, reached from TypeScript as RivetKit's own clients are written."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine import EXAMPLES, Engine, engine, stand_in
from tests.support.js import FOLDER, installed

pytestmark = pytest.mark.npm


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    installed()  # skips when there is no node
    with (
        stand_in() as api,
        engine(EXAMPLES / "registry.py", tmp_path_factory.mktemp("data"), api=api) as started,
    ):
        yield started


def run(running: Engine, name: str, folder: Path) -> Any:
    """What the client prints."""
    modules = installed() / "node_modules"
    (folder / "node_modules").symlink_to(modules)
    script = folder / f"{name}.mjs"
    source = FOLDER / "workflows" / f"{name}.ts"
    built = [modules / ".bin" / "esbuild", source, "--format=esm", f"--outfile={script}", "--log-level=error"]
    subprocess.run(built, check=True, timeout=60)
    done = subprocess.run(
        ["node", script],
        cwd=folder,
        env={**running.env, "RIVET_ENDPOINT": running.url},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_counter(running: Engine, tmp_path: Path) -> None:
    state = run(running, "counter", tmp_path)
    assert (state["value"], state["processed"]) == (5, 2)
    assert state["lastOperationId"].startswith("op_")


def test_invoice(running: Engine, tmp_path: Path) -> None:
    state = run(running, "invoice", tmp_path)
    assert (state["status"], state["total"]) == ("created", 4560)
    assert state["invoiceId"].startswith("inv_")


def test_worker(running: Engine, tmp_path: Path) -> None:
    state = run(running, "worker", tmp_path)
    assert (state["status"], state["processed"], state["reason"]) == ("stopped", 2, "no more work today")
