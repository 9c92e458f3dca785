"""Printing an actor's events as they are broadcast, over a connection like any client's."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rivetpy.cli import times
from rivetpy.cli.problems import UsageProblem
from rivetpy.cli.shared import Common
from rivetpy.cli.source import open_engine, require
from rivetpy.cli.text import json_text, visible, who
from rivetpy.client.endpoint import Endpoint
from rivetpy.errors import did_you_mean
from rivetpy.wire import jsonvalue
from rivetpy.wire.jsonvalue import JsonObject

if TYPE_CHECKING:
    from rivetpy.wire.messages import Event


@dataclass(frozen=True, slots=True)
class Watch:
    """Whom to listen to, for what, and how to tell it."""

    endpoint: Endpoint
    actor: JsonObject
    events: Sequence[str]
    as_json: bool


def watch_events(common: Common, actor: str, key: str, wanted: Sequence[str], as_json: bool) -> None:
    """Print events until somebody ends it. Raises UsageProblem when there are none to listen to."""
    with open_engine(common) as engine:
        found = require(engine, actor, key)
        about = engine.metadata()["actorNames"].get(actor, {"metadata": {}})["metadata"]
        watch = Watch(engine.endpoint, found, _events(actor, about.get("events", []), wanted), as_json)
    logging.getLogger("rivetpy.client").addHandler(logging.NullHandler())  # what it logs, we say
    asyncio.run(_watch(watch))


def _events(actor: str, declared: Sequence[str], wanted: Sequence[str]) -> Sequence[str]:
    if not declared and not wanted:
        raise UsageProblem(
            f"The actor {actor!r} declares no events; name those to listen to: "
            f"rivet watch {actor} --event NAME"
        )
    for name in wanted:
        if declared and name not in declared:
            raise UsageProblem(
                f"The actor {actor!r} declares no event {name!r}. {did_you_mean(name, declared)}"
            )
    return wanted or declared


async def _watch(watch: Watch) -> None:
    from rivetpy.client import create_client

    endpoint = watch.endpoint
    async with create_client(endpoint.url, endpoint.token, endpoint.namespace) as client:
        handle = client.actor(watch.actor["name"]).get_for_id(watch.actor["actor_id"])
        async with handle.connect() as connection:
            _note(f"watching {who(watch.actor)} for {', '.join(watch.events)}; Ctrl-C ends it")
            connection.on_status_change(_tell)
            async with connection.events(*watch.events) as events:
                async for event in events:
                    print(_shown(event, watch.as_json), flush=True)


def _tell(status: str) -> None:
    """What becomes of the connection on the way."""
    if status in {"disconnected", "connected"}:
        _note("connected again" if status == "connected" else "the connection broke; it is opened again")


def _shown(event: Event, as_json: bool) -> str:
    now = time.time_ns() // 1_000_000
    args = [jsonvalue.to_json(arg) for arg in event.args]
    if as_json:
        return json_text({"at": now, "event": event.name, "args": args})
    return " ".join([times.short(now, now), visible(event.name), *map(json_text, args)])


def _note(text: str) -> None:
    print(visible(text), file=sys.stderr, flush=True)
