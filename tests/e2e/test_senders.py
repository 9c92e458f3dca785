"""Many processes that send to one engine while others look on: nothing fails, nothing is lost or doubled."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine import RIVET, Engine, engine

REGISTRY = """
from rivetpy import ActorOptions, actor, queue, setup
from rivetpy.workflow import Loop, workflow

async def keep(step, bodies):
    step.state["got"] += bodies

async def again(loop):
    messages = await loop.queue.next_batch("wait", count=50)
    await loop.step("keep", keep, [message.body for message in messages])

async def run(ctx):
    await ctx.loop("loop", again)

box = actor(state={"got": []}, queues={"in": queue()}, run=workflow(run), options=ActorOptions(max_queue_size=100_000))
registry = setup(use={"box": box})
"""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Engine]:
    (tmp_path / "registry.py").write_text(REGISTRY)
    with engine(tmp_path / "registry.py", tmp_path / "data") as started:
        yield started


def started(running: Engine, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*RIVET, *args],
        env={**running.env, "RIVET_ENDPOINT": running.url},
        cwd=running.cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def all_arrived(running: Engine, wanted: list[int]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        got = json.loads(running.rivet("state", "box"))["got"]
        if len(got) >= len(wanted):
            break
    assert sorted(got) == wanted


def test_several_processes_send_while_others_look(running: Engine, tmp_path: Path) -> None:
    running.rivet("send", "in", "0")
    watching = started(running, "history", "box", "--follow", "--json")
    senders = []
    for each in range(4):
        bodies = tmp_path / f"{each}.jsonl"
        bodies.write_text("".join(f"{1 + each * 100 + n}\n" for n in range(100)))
        senders.append(started(running, "send", "in", "--file", str(bodies)))
        senders.append(started(running, "actors"))
    for sender in senders:
        out, err = sender.communicate(timeout=120)
        assert (sender.returncode, err) == (0, ""), out
    all_arrived(running, list(range(401)))
    watching.kill()
    assert "locked" not in "".join(watching.communicate()) + running.output


@pytest.mark.long
def test_eight_processes_send_two_hundred_each(running: Engine) -> None:
    """Each message by a process of its own."""
    watching = started(running, "history", "box", "--follow", "--json")
    for first in range(0, 1600, 8):
        senders = [started(running, "send", "in", str(first + each)) for each in range(8)]
        for sender in senders:
            assert (sender.communicate(timeout=120)[1], sender.returncode) == ("", 0)
    all_arrived(running, list(range(1600)))
    watching.kill()
    assert "locked" not in "".join(watching.communicate()) + running.output
