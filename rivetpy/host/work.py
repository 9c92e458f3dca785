"""Work an actor lets run beside its calls: what keeps it awake, and what it finishes before it leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine

from rivetpy.codec import Value
from rivetpy.host.tasks import Tasks


class Work:
    """``settle`` makes the changes of finished work durable; ``on_rest`` is told when no work keeps awake any more;
    ``on_failure`` is told what failed where nobody awaits it."""

    def __init__(
        self,
        settle: Callable[[], Awaitable[None]],
        on_rest: Callable[[], None],
        on_failure: Callable[[str, Exception], None],
    ) -> None:
        self._settle = settle
        self._on_rest = on_rest
        self._on_failure = on_failure
        self._tasks = Tasks()
        #: How much runs for which the actor may not fall asleep.
        self.keeping = 0

    def keep_awake(self, awaitable: Awaitable[Value]) -> asyncio.Task[Value]:
        """Let it run; the actor does not fall asleep meanwhile."""
        self.keeping += 1
        task = self._tasks.start(self._finish(awaitable))
        task.add_done_callback(self._kept)
        _closed_with(task, awaitable)
        return task

    def wait_until(self, awaitable: Awaitable[Value]) -> None:
        """Let it run; when the actor goes to sleep, this comes to its end first."""
        _closed_with(self._tasks.start(self._alone(awaitable)), awaitable)

    async def drain(self, deadline: float) -> None:
        """Wait for everything, also for what is begun meanwhile; cancel what is late (loop time)."""
        loop = asyncio.get_running_loop()
        while self._tasks.running and loop.time() < deadline:
            await self._tasks.wait(deadline - loop.time())
        await self._tasks.idle(0)

    def give_up(self) -> None:
        """Cancel everything: what is in memory is not what is stored."""
        self._tasks.cancel()

    async def _finish(self, awaitable: Awaitable[Value]) -> Value:
        try:
            return await awaitable
        finally:
            await self._settle()

    async def _alone(self, awaitable: Awaitable[Value]) -> None:
        try:
            await self._finish(awaitable)
        except Exception as error:
            self._on_failure("wait_until", error)

    def _kept(self, _: object) -> None:
        self.keeping -= 1
        self._on_rest()


def _closed_with(task: asyncio.Task[Value], awaitable: Awaitable[Value]) -> None:
    """A task that is cancelled before it begins never awaits its work, of which Python would complain."""
    if isinstance(awaitable, Coroutine):
        task.add_done_callback(lambda _: awaitable.close())
