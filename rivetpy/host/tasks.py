"""Work that is done to its end, also when whoever asked for it goes away in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


class Tasks:
    """Tasks that run by themselves; held here, since the event loop holds its tasks weakly."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[object]] = set()

    @property
    def running(self) -> bool:
        """Whether anything runs."""
        return bool(self._running)

    def start(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Let work run."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def finish(self, work: Coroutine[object, object, T]) -> T:
        """Await work; a caller that is cancelled leaves, and the work goes on without it.

        For whatever changes memory and store together: half of it would leave them apart.
        """
        return await asyncio.shield(self.start(work))

    async def wait(self, timeout: float) -> None:
        """Wait until what runs now is done, for at most ``timeout`` seconds."""
        if self._running:
            await asyncio.wait(self._running, timeout=timeout)

    async def idle(self, timeout: float) -> None:
        """Wait until nothing runs; what still does after ``timeout`` seconds is cancelled."""
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=timeout)
            for task in late:
                task.cancel()

    def cancel(self) -> None:
        """Cancel whatever runs, but for the caller."""
        for task in self._running:
            if task is not asyncio.current_task():
                task.cancel()
