"""A registry of several modules that tests edit while `rivet dev` runs it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import httpx

from tests.support.asgi import MADE
from tests.support.engine import Engine

T = TypeVar("T")

REGISTRY = """
import logging, os, pathlib
from rivetpy import actor, queue, setup
from rivetpy.workflow import workflow
import helper
from errors import Boom
from shop.prices import PRICE

VERSION = 1
log = logging.getLogger(__name__)

async def work(step, n):
    pathlib.Path(__file__).with_name("out.json").write_text(str(n))
    step.state["done"].append(n)
    step.state["versions"].append(VERSION)

async def iteration(loop):
    message = await loop.queue.next("wait")
    log.info("taking %s", message.body)
    await loop.step("work", work, message.body)

async def run(ctx):
    await ctx.loop("loop", iteration)

def caught(c):
    try:
        helper.fail()
    except Boom as boom:
        return boom.args[0]

def late(c):
    import later
    return later.VALUE

worker = actor(
    state={"done": [], "versions": []}, queues={"jobs": queue()}, run=workflow(run),
    actions={
        "version": lambda c: VERSION, "pid": lambda c: os.getpid(), "price": lambda c: PRICE,
        "caught": caught, "late": late,
    },
)
registry = setup(use={"worker": worker})
"""
FILES = {
    "registry.py": REGISTRY,
    "errors.py": "class Boom(Exception): pass\n",
    "helper.py": "from errors import Boom\n\ndef fail():\n    raise Boom('one')\n",
    "later.py": "VALUE = 'early'\n",
    "shop/__init__.py": "",
    "shop/prices.py": "PRICE = 1\n",
}


class Project:
    """A registry that is edited while it runs; its data lies in the same folder."""

    def __init__(self, folder: Path, options: Sequence[str] = ()) -> None:
        self.folder = folder
        for name, text in FILES.items():
            self.write(name, text)
        self.engine = Engine(folder / "registry.py", folder / "data", options=options)

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def replace(self, name: str, text: str) -> None:
        """Save as many editors do: a new file takes the place of the old one."""
        self.write(f".{name}.swp", text)
        (self.folder / f".{name}.swp").rename(self.folder / name)

    def version(self, number: int, more: str = "") -> str:
        return REGISTRY.replace("VERSION = 1", f"VERSION = {number}") + more

    @property
    def reloads(self) -> int:
        return self.engine.output.count("rivet: reloaded in ")

    def reloaded(self, times: int, patience: float = 30) -> None:
        """Waits until it was reloaded that often."""
        # Atomic, and only from the start: else a search that fails tries every way to share out the lines.
        self.engine.process.wait_for(rf"(?s)\A(?>.*?rivet: reloaded in [^\n]*\n){{{times}}}", patience)

    def call(self, action: str) -> object:
        path = f"/gateway/worker/action/{action}?{MADE}&rvt-key=main"
        answer = httpx.post(self.engine.url + path, json={"args": []}, timeout=30).raise_for_status()
        return answer.json()["output"]

    def state(self, key: str) -> Any:
        return json.loads(self.engine.rivet("state", "worker", key))

    def history(self, key: str) -> str:
        return self.engine.rivet("history", "worker", key, "--json")

    def until(self, look: Callable[[], T], so: Callable[[T], object], patience: float = 60) -> T:
        deadline = time.monotonic() + patience
        while not so(told := look()):
            assert time.monotonic() < deadline, told
        return told

    def send(self, body: str) -> None:
        self.engine.rivet("send", "jobs", json.dumps(body), "--key", "load")
