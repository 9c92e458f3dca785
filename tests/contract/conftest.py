"""The stores that every test in this folder runs on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rivetpy.store import Store, group
from rivetpy.store.faulty import FaultyStore
from rivetpy.store.memory import MemoryStore
from rivetpy.store.sqlite import Durability, SqliteStore

Scenario = Callable[[Store], Awaitable[None]]


class Place:
    """Where the data of a store is. Each `run` opens it, lets a scenario use it, and closes it again."""

    def __init__(self, opener: Callable[[], Store]) -> None:
        self._opener = opener

    def run(self, *scenarios: Scenario) -> None:
        for scenario in scenarios:
            asyncio.run(self._run(scenario))

    async def _run(self, scenario: Scenario) -> None:
        store = self._opener()
        try:
            await scenario(store)
        finally:
            await store.close()


@pytest.fixture(params=["memory", "disk", "process", "slow disk", "faulty"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    path = tmp_path / "journal.db"
    memory = MemoryStore()
    if request.param == "slow disk":  # every sync in the thread
        monkeypatch.setattr(group, "SLOW", -1.0)
        monkeypatch.setattr(group, "PROBE", 1_000_000)
    openers: dict[str, Callable[[], Store]] = {
        "memory": lambda: memory,
        "disk": lambda: SqliteStore.open(path),
        "slow disk": lambda: SqliteStore.open(path),
        "process": lambda: SqliteStore.open(path, Durability.PROCESS),
        "faulty": lambda: FaultyStore(memory),
    }
    return Place(openers[request.param])
