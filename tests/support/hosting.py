"""Short ways to try an actor on a host in memory, and a client that writes down what reaches it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from rivetpy import RivetError, setup
from rivetpy.actors import ActorDefinition
from rivetpy.host import Host, HostEvent
from rivetpy.host.connections import Closed, Connection, Event, Outgoing
from rivetpy.store import Store
from rivetpy.store.memory import MemoryStore
from tests.support.jump import JumpClock, run

Script = Callable[[Host], Coroutine[Any, Any, Any]]


def with_host(
    definition: ActorDefinition,
    script: Script,
    store: Store | None = None,
    *,
    events: list[HostEvent] | None = None,
    clean: bool = True,
    start: float = 0.0,
    files: Path | None = None,
) -> Any:
    """The script's result on a host whose actor "a" is this definition; without ``clean`` the host just ends."""

    async def life() -> Any:
        watch = None if events is None else events.append
        host = Host(
            setup(use={"a": definition}), store or MemoryStore(), JumpClock(), on_event=watch, files=files
        )
        await host.start()
        try:
            return await script(host)
        finally:
            if clean:
                await host.stop()

    return run(life(), start)


async def make(host: Host, key: str = "k", input: Any = None) -> str:
    """The id of an actor "a"."""
    return (await host.get_or_create("default", "a", (key,), input))[0].id


async def refused(work: Coroutine[Any, Any, Any]) -> str:
    """How it was refused: group.code."""
    with pytest.raises(RivetError) as caught:
        await work
    return f"{caught.value.group}.{caught.value.code}"


class Client:
    """A connected client."""

    def __init__(self) -> None:
        self.got: list[Any] = []
        self.connection: Connection

    async def connect(self, host: Host, actor_id: str, params: Any = None, *subscribe: str) -> Client:
        """Connect and subscribe."""
        self.connection = await host.connect(actor_id, params, self.take)
        for event in subscribe:
            await self.connection.subscribe(event)
        return self

    def take(self, outgoing: Outgoing) -> None:
        match outgoing:
            case Event(name, args):
                self.got.append((name, *args))
            case Closed(reason, code):
                self.got.append((code, reason))


async def asleep(host: Host, actor_id: str) -> None:
    """Wait until the actor left memory."""
    async with asyncio.timeout(1e6):
        while host.is_awake(actor_id):
            await asyncio.sleep(1)
