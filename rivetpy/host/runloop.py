"""The life of a run handler that is no workflow: begun at every wake, ended when the actor leaves (spec actors 2)."""

from __future__ import annotations

import asyncio

from rivetpy.host.actions import perform
from rivetpy.host.context import ActorContext
from rivetpy.host.parts import Parts
from rivetpy.workflow.waits import Wait

#: Seconds that a cancelled handler has for its clean-up.
LAST_WORDS = 1.0


class RunLoop:
    """One run of ``async def run(c)``."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._context = ActorContext(parts)
        self._context.is_run = True
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.get_running_loop().create_task(
            self._live(), name=f"run of {self._parts.core.row.name}"
        )

    async def _live(self) -> None:
        run = self._parts.core.definition.loop
        assert run is not None
        try:
            await perform(self._parts.core, self._context, "run", run, ())
        except Exception as error:
            self._parts.failed("run", error)
        finally:
            self._context.queue.release()

    @property
    def waits(self) -> tuple[Wait, ...] | None:
        """The messages it waits for; () while it does something else, None once it has ended."""
        if self._task is None or self._task.done():
            return None
        return self._parts.inbox.waits_of(self._task)

    @property
    def resting(self) -> bool:
        """Whether it ended, or waits for messages."""
        return self.waits != ()

    async def close(self, deadline: float) -> tuple[Wait, ...] | None:
        """End it: at once where it waits for a message; otherwise it may see c.abort until the deadline (loop time).
        What it waited for, as `waits`."""
        task, loop = self._task, asyncio.get_running_loop()
        if task is None:
            return None
        while (waits := self.waits) == () and loop.time() < deadline:
            await asyncio.wait([task], timeout=0.01)
        task.cancel()
        await asyncio.wait([task], timeout=LAST_WORDS)
        return waits

    def give_up(self) -> None:
        """Cancel it: what is in memory is not what is stored."""
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
