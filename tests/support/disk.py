"""A disk whose syncs take a second of the jumping clock: what happens while a record is on its way."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from rivetpy import actor, queue, setup
from rivetpy.errors import StoreError
from rivetpy.host import Host
from rivetpy.host.events import Watcher
from rivetpy.store import Batch
from rivetpy.store.memory import MemoryStore
from rivetpy.unbroken import Unbroken
from rivetpy.workflow import layout, workflow
from tests.support.jump import JumpClock, run


class Disk(MemoryStore):
    """Whose every sync takes a second; whatever is handed in at the same moment shares one."""

    def __init__(self) -> None:
        super().__init__()
        #: Keys: a commit that puts one that begins so is refused when its second is over.
        self.refused: bytes | None = None
        self.durable: list[bytes] = []
        self._on_the_way: deque[tuple[Batch, Unbroken[None]]] = deque()
        #: What was handed in behind a refused batch of its actor.
        self._behind: set[Unbroken[None]] = set()

    def commit(self, batch: Batch) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        done = Unbroken[None](loop=loop)
        if self._refusals.of(batch.actor) is not None:
            self._behind.add(done)
        self._on_the_way.append((batch, done))
        loop.call_later(1, self._sync)
        return done

    def _sync(self) -> None:
        batch, done = self._on_the_way.popleft()
        full = self.refused is not None and any(key.startswith(self.refused) for key in batch.puts)
        error = StoreError("disk_full", "The test's disk is full.") if full or done in self._behind else None
        error = error or self._apply(batch)
        if error is None:
            self.durable += batch.puts
            done.set_result(None)
        else:
            self._behind.update(later for other, later in self._on_the_way if other.actor == batch.actor)
            self._refusals.tell(batch.actor, error)
            done.set_exception(error)


Script = Callable[[Host, str, Disk], Awaitable[Any]]


def on_a_disk(
    flow: Any,
    script: Script,
    disk: Disk | None = None,
    *,
    on_error: Any = None,
    on_event: Watcher | None = None,
    **more: Any,
) -> Any:
    """Run the script beside one actor with the workflow (None: without one); ``more`` is in its definition."""
    ways: dict[str, Any] = {"state": {"n": 0}, "queues": {"work": queue()}, "actions": {"add": count}}
    if flow is not None:
        ways["run"] = workflow(flow, on_error=on_error)
    definition = actor(**(ways | more))

    async def life() -> Any:
        used = disk or Disk()
        host = Host(setup(use={"a": definition}), used, JumpClock(), on_event=on_event)
        await host.start()
        row = await host.create("default", "a", ("k",))
        try:
            return await script(host, row.id, used)
        finally:
            used.refused = None
            await host.stop()

    return run(life())


def now() -> float:
    """The time of the test, in seconds."""
    return asyncio.get_running_loop().time()


def recorded(disk: Disk, location: str) -> bool:
    """Whether an entry there is durable."""
    return layout.entry_key(location) in disk.durable


async def count(step: Any, by: int = 1) -> None:
    """A step, or an action, that counts in the state."""
    step.state["n"] += by
