"""Whoever of an actor's own code waits for messages outside of a workflow."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from rivetpy.clock import Clock
from rivetpy.workflow.waits import Wait


@dataclass(eq=False, slots=True)
class _Waiter:
    wait: Wait
    task: asyncio.Task[object] | None
    future: asyncio.Future[None]

    def wake(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


class Inbox:
    """Suspends receivers until a message of theirs may be there, or their deadline."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiters: list[_Waiter] = []

    def notify(self, queue: str) -> None:
        """A message arrived."""
        for waiter in self._waiters:
            if waiter.wait.takes(queue):
                waiter.wake()

    def waits_of(self, task: asyncio.Task[None] | None) -> tuple[Wait, ...]:
        """What a task waits for in here."""
        return tuple(waiter.wait for waiter in self._waiters if waiter.task is task)

    async def wait(self, wait: Wait) -> None:
        """Wait until a message arrived in one of the queues, or the deadline is there."""
        waiter = _Waiter(wait, asyncio.current_task(), asyncio.get_running_loop().create_future())
        self._waiters.append(waiter)
        alarm = None if wait.deadline is None else self._clock.call_at(wait.deadline, waiter.wake)
        try:
            await waiter.future
        finally:
            self._waiters.remove(waiter)
            if alarm is not None:
                alarm.cancel()
