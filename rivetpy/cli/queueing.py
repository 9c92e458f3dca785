"""The messages that wait for an actor: listing and removing them."""

from __future__ import annotations

import time

from rivetpy.cli.asking import confirm
from rivetpy.cli.problems import Problem
from rivetpy.cli.shared import Common
from rivetpy.cli.source import open_engine, open_source, require
from rivetpy.cli.telling import tell
from rivetpy.cli.text import json_text, who


def list_queue(common: Common, actor: str, key: str, as_json: bool) -> None:
    """Print the waiting messages, oldest first."""
    with open_source(common) as source:
        found = require(source, actor, key)
        waiting = source.inspect(found["actor_id"], "queue")
    if as_json:
        for message in waiting["messages"]:
            print(json_text(message))
        return
    from rivetpy.cli.render_queue import queue_table
    from rivetpy.cli.terminal import show, width

    show(queue_table(waiting, width(), time.time_ns() // 1_000_000), common.color)


def clear_queue(common: Common, actor: str, key: str, yes: bool, as_json: bool) -> None:
    """Remove all waiting messages, after asking."""
    with open_engine(common) as engine:
        found = require(engine, actor, key)
        size = engine.inspect(found["actor_id"], "queue")["size"]
        if size:
            confirm(f"Remove {size} waiting messages of {who(found)}?", yes)
            engine.drop(found["actor_id"], None)
        tell("clear", f"removed {size} messages of {who(found)}", as_json=as_json, actor=found, messages=size)


def drop_messages(common: Common, actor: str, key: str, ids: list[int], as_json: bool) -> None:
    """Remove some messages by id. Raises Problem when one is not there (any more); the others are removed."""
    with open_engine(common) as engine:
        found = require(engine, actor, key)
        there = {message["id"] for message in engine.inspect(found["actor_id"], "queue")["messages"]}
        for message in ids:
            engine.drop(found["actor_id"], message)
    missing = [str(message) for message in ids if message not in there]
    if missing:
        raise Problem(f"No message {', '.join(missing)} waits there. See: rivet queue {who(found)}")
    sentence = f"removed {len(ids)} messages" if len(ids) > 1 else f"removed message {ids[0]}"
    tell("drop", sentence, as_json=as_json, actor=found, messages=len(ids))
