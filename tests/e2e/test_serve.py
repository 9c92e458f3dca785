"""`rivet serve` as a real process: quiet, never reloading, ended by SIGTERM with everything kept."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

from tests.support.command import rivet
from tests.support.engine import engine

REGISTRY = """
import os
from rivetpy import actor, queue, setup
from rivetpy.workflow import Loop, workflow

print("imported")

async def work(step, body):
    if body == "bad":
        raise ValueError("a bad body")
    step.log.info("did it")
    step.state["done"].append(body)

async def again(loop):
    message = await loop.queue.next("wait")
    await loop.step("work", work, message.body, max_retries=0)

async def run(ctx):
    await ctx.loop("loop", again)

worker = actor(state={"done": []}, queues={"jobs": queue()}, run=workflow(run),
               actions={"version": lambda c: ["one", os.getpid()]})
registry = setup(use={"worker": worker})
"""


def test_it_serves_quietly_does_not_reload_and_ends_cleanly(tmp_path: Path) -> None:
    (tmp_path / "registry.py").write_text(REGISTRY)
    with engine(tmp_path / "registry.py", tmp_path / "data", verb="serve") as running:
        before = running.rivet("call", "version")
        assert before.startswith('["one",')
        running.rivet("send", "jobs", '"good"')
        (tmp_path / "registry.py").write_text(REGISTRY.replace('"one"', '"two"'))
        time.sleep(1)  # a reload would take less
        running.rivet("send", "jobs", '"bad"', "--key", "other")
        running.process.wait_for("a bad body")
        assert running.rivet("call", "version") == before
        assert "did it" not in running.output and "reload" not in running.output
        os.kill(running.process.popen.pid, signal.SIGTERM)
        assert running.process.popen.wait(30) == 0
        assert "good" in running.rivet("state", "worker")
        running.kill()
        running.options = ["--log-format", "json"]
        running.start()
        assert running.rivet("call", "version").startswith('["two",')
        said = [json.loads(line)["message"] for line in running.process.output]
        assert "imported" in said, "all lines are objects, also what the registry prints"


def test_working_for_another_engine_is_refused() -> None:
    ended = rivet("serve", "--endpoint", "https://api.rivet.dev")
    assert (ended.code, ended.out) == (3, "")
    assert ended.error == (
        "--endpoint: working for a Rivet Engine is not built yet. "
        "Without it this machine runs the actors itself"
    )
