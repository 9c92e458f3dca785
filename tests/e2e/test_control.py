"""A real `rivet dev`: journals checked against changed code, workflows rewound and recovered, kill -9 in between."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.engine import Engine, engine

REGISTRY = """
from pathlib import Path
from rivetpy import actor, queue, setup
from rivetpy.workflow import workflow

def note(step, name):
    with Path("ran.log").open("a") as log:
        log.write(name + "\\n")
    return name

def charge(step):
    note(step, "charge")
    raise RuntimeError("the bank is away")

async def run(ctx):
    await ctx.step("reserve", note, "reserve")
    message = await ctx.queue.next("go")
    await ctx.step("charge", charge, max_retries=0)
    await ctx.sleep("trial", 1e6)
    return message.body

order = actor(queues={"orders": queue()}, run=workflow(run))
registry = setup(use={"order": order})
"""
FIXED = REGISTRY.replace('    raise RuntimeError("the bank is away")\n', '    return "paid"\n')
RENAMED = FIXED.replace('"reserve", note', '"book", note')


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    file = tmp_path / "project" / "registry.py"
    file.parent.mkdir()
    file.write_text(REGISTRY)
    return file


@pytest.fixture
def running(registry: Path, tmp_path: Path) -> Iterator[Engine]:
    with engine(registry, tmp_path / "data") as started:
        yield started


def ran(registry: Path) -> list[str]:
    return (registry.parent / "ran.log").read_text().split()


def restart(running: Engine) -> None:
    running.kill()
    running.start()


def status(running: Engine) -> str:
    (row,) = running.rivet("actors", "order", "--json").splitlines()
    return str(json.loads(row)["summary"]["workflowStatus"])


def eventually(is_so: Callable[[], bool], patience: float = 20) -> None:
    deadline = time.monotonic() + patience
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def asleep(running: Engine) -> bool:
    """Whether the workflow has come to its long sleep."""
    return '"location":"trial"' in running.rivet("history", "order", "--json")


def test_code_is_fixed_and_the_workflow_recovered(running: Engine, registry: Path) -> None:
    running.rivet("send", "orders", "7")
    eventually(lambda: status(running) == "failed")
    assert "rivet recover order main" in running.rivet("history", "order")
    registry.write_text(FIXED)
    restart(running)
    assert status(running) == "failed", "nothing goes on by itself"
    running.rivet("recover", "order")
    eventually(lambda: asleep(running))
    assert ran(registry) == ["reserve", "charge", "charge"]
    restart(running)
    assert "not failed" in running.rivet("recover", "order", code=1)
    assert ran(registry) == ["reserve", "charge", "charge"]


def test_new_code_is_checked_beside_the_running_engine_and_without_it(
    running: Engine, registry: Path
) -> None:
    registry.write_text(FIXED)
    restart(running)
    running.rivet("send", "orders", "7")
    eventually(lambda: asleep(running))
    before = running.rivet("history", "order", "--json")
    assert running.rivet("replay", "--all") == "1 checked: 1 fits\n"
    registry.write_text(RENAMED)
    told = running.rivet("replay", "order", code=1)
    assert told.splitlines()[-1] == "error: It can't go on with registry.py as it is"
    assert running.rivet("history", "order", "--json") == before
    assert ran(registry) == ["reserve", "charge"]
    running.kill()
    assert "1 of 1" not in running.rivet("replay", "--all", code=1, endpoint=False)
    registry.write_text(FIXED)
    assert running.rivet("replay", "--all", endpoint=False) == "1 checked: 1 fits\n"
    assert ran(registry) == ["reserve", "charge"]


def test_what_replay_foretells_is_what_happens_and_the_old_code_goes_on(
    running: Engine, registry: Path
) -> None:
    registry.write_text(FIXED)
    restart(running)
    running.rivet("send", "orders", "7")
    eventually(lambda: asleep(running))
    registry.write_text(RENAMED)
    restart(running)
    running.rivet("wake", "order")
    eventually(lambda: status(running) == "diverged")
    shown = running.rivet("history", "order")
    for text in ("a new step 'book'", "step 'reserve'", "registry.py:", "ctx.removed", "rivet replay order"):
        assert text in shown
    running.process.wait_for("order main: workflow diverged at 'book'")
    assert ran(registry) == ["reserve", "charge"]
    registry.write_text(FIXED)
    restart(running)
    running.rivet("wake", "order")
    eventually(lambda: status(running) == "sleeping")
    assert ran(registry) == ["reserve", "charge"]


def test_rewind_and_undo_survive_kill_9(running: Engine, registry: Path) -> None:
    registry.write_text(FIXED)
    restart(running)
    running.rivet("send", "orders", "7")
    eventually(lambda: asleep(running))
    before = running.rivet("history", "order", "--json")
    assert "  charge\n" in running.rivet("rewind", "order", "--to", "charge", "--dry-run")
    running.rivet("rewind", "order", "--to", "charge", "--yes")
    eventually(lambda: asleep(running))
    assert ran(registry) == ["reserve", "charge", "charge"]
    restart(running)
    running.rivet("rewind", "order", "--undo", "--yes")
    assert running.rivet("history", "order", "--json") == before
    restart(running)
    assert running.rivet("history", "order", "--json") == before
    assert ran(registry) == ["reserve", "charge", "charge"]
    running.rivet("cancel", "order", "--yes")
    restart(running)
    assert status(running) == "cancelled"
