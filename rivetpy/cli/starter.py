"""`rivet init`: a small project that runs at once."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote

from rivetpy.cli.problems import Problem
from rivetpy.cli.telling import tell

REGISTRY = '''\
"""Guests come through a queue; each is greeted once, also when the engine is killed in between."""

from dataclasses import dataclass
from datetime import timedelta

from rivetpy import actor, queue, setup
from rivetpy.workflow import Loop, workflow


@dataclass
class Guest:
    """What a message has to look like; another one is refused where it is sent."""

    name: str


async def greet(step, name):
    """A step: once it is recorded it never runs again, and its result is kept."""
    step.state["greeted"].append(name)
    return f"Hello, {name}!"


async def one_guest(loop, count):
    message = await loop.queue.next("wait-guest")
    await loop.sleep("get-the-door", timedelta(seconds=1))
    await loop.step("greet", greet, message.body["name"])
    return Loop.continue_(count + 1)


async def welcome(ctx):
    """The workflow: it runs again from the top after a restart, and finds what is recorded."""
    await ctx.loop("guests", one_guest, state=0)


def greeted(c):
    """An action: answers at once."""
    return c.state["greeted"]


greeter = actor(
    state={"greeted": []},
    queues={"guests": queue(Guest)},
    actions={"greeted": greeted},
    run=workflow(welcome),
)
registry = setup(use={"greeter": greeter})
'''

TEST = '''\
"""The greeter in an engine of the test's own: nothing listens, nothing sleeps, and a crash is one line."""

from registry import registry


async def test_every_guest_is_greeted_once(rivet_engine):
    t = await rivet_engine(registry)
    greeter = t.client.greeter.get_or_create("main")
    await greeter.send("guests", {"name": "Ada"})
    await greeter.send("guests", {"name": "Grace"})
    await t.advance(seconds=1)
    assert await greeter.greeted() == ["Ada"]
    await t.advance(minutes=1)
    assert await greeter.greeted() == ["Ada", "Grace"]
'''

FILES = {"registry.py": REGISTRY, "test_registry.py": TEST}

NEXT = (
    "rivet dev                    # and in a second terminal:",
    "rivet send guests name=Ada",
    "rivet history greeter",
    "python -m pytest             # after: pip install pytest",
)


def start_project(directory: Path, as_json: bool) -> None:
    """Write the files. Raises Problem when one of them is there already; then nothing is written."""
    taken = [str(directory / name) for name in FILES if os.path.lexists(directory / name)]
    if taken:
        raise Problem(
            f"Already there: {', '.join(taken)}. Nothing was changed. Choose another: rivet init DIR"
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise Problem(
            f"{directory} is no directory. Nothing was changed. Choose another: rivet init DIR"
        ) from None
    for name, text in FILES.items():
        with (directory / name).open("x", encoding="utf-8") as file:
            file.write(text)
    made = [str(directory / name) for name in FILES]
    there = f"./{directory}" if str(directory).startswith("-") else str(directory)  # no option of cd
    go = [] if directory.resolve() == Path.cwd() else [f"cd {quote(there)}"]
    steps = [f"  {step}" for step in (*go, *NEXT)]
    tell("init", f"made {' and '.join(made)}; now:", *steps, as_json=as_json, files=made)
