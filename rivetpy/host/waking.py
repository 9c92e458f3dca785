"""Waking actors that nobody is waiting for: after a start, when their alarm is due, and after something went wrong."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence

from rivetpy.clock import Clock
from rivetpy.errors import RivetError, StoreError
from rivetpy.host.events import HostEvent, Watcher
from rivetpy.host.tasks import Tasks
from rivetpy.store import ActorRow, Store
from rivetpy.workflow.failure import failure_of

#: How many actors are loaded at a time when many have to go on.
AT_ONCE = 64
#: Pause before an actor that could not be woken, or whose store failed, is tried again (ms).
RETRY_PAUSE = 5_000


class Waker:
    """Finds due alarms by index, not by a timer each.

    ``wake`` brings an actor into memory; ``put_off`` gives one that could not be woken, and why, a later alarm.
    ``watch`` is told what went wrong, and ``tasks`` hold what this begins.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        wake: Callable[[str], Awaitable[object]],
        put_off: Callable[[str, Exception], Awaitable[None]],
        watch: Watcher,
        tasks: Tasks,
    ) -> None:
        self._store = store
        self._clock = clock
        self._wake = wake
        self._put_off = put_off
        self._watch = watch
        self._tasks = tasks
        self._watching: asyncio.Task[None] | None = None
        self._stopped = False
        #: To be set when an actor got an alarm.
        self.changed = asyncio.Event()

    def start(self, left_behind: Sequence[str]) -> None:
        """Wake those that an unclean end left behind, then whoever has an alarm that is due."""
        self._tasks.start(self.wake_all(left_behind))
        self._watching = asyncio.get_running_loop().create_task(self._watch_alarms())

    async def stop(self) -> None:
        """Wake nobody any more."""
        self._stopped = True
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def _watch_alarms(self) -> None:
        """Wake sleeping actors when they asked for it, until cancelled."""
        while True:
            self.changed.clear()
            try:
                due = await self._store.due(self._clock.now(), AT_ONCE)
                kept = await self.wake_all(due)
                following = await self._store.next_alarm() if kept else self._pause()
            except StoreError:
                following = self._pause()
            timer = None if following is None else self._clock.call_at(following, self.changed.set)
            try:
                await self.changed.wait()
            finally:
                if timer is not None:
                    timer.cancel()

    def _pause(self) -> int:
        return self._clock.now() + RETRY_PAUSE

    async def wake_all(self, actor_ids: Sequence[str]) -> bool:
        """Wake them, a bounded number at a time; False when one could be neither woken nor put off."""
        kept = True
        for at in range(0, len(actor_ids), AT_ONCE):
            kept &= all(await asyncio.gather(*map(self.try_wake, actor_ids[at : at + AT_ONCE])))
        return kept

    async def try_wake(self, actor_id: str) -> bool:
        """Wake one actor, or put it off; False when not even that worked."""
        try:
            await self._wake(actor_id)
        except Exception as error:  # one actor, whose rows may be damaged, is never the end of all alarms
            try:
                await self._put_off(actor_id, error)
            except StoreError:
                return False
            self.changed.set()
        return True

    # -- after something went wrong ----------------------------------------------------------------------

    @contextlib.contextmanager
    def coming_back(self, row: ActorRow) -> Iterator[None]:
        """Whatever keeps an actor from leaving memory in order, it must not stay away: its row still says awake."""
        try:
            yield
        except Exception as error:
            self.come_back(row, error)
            raise

    def come_back(self, row: ActorRow, error: Exception) -> None:
        """Wake an actor that had to be given up, after a pause."""
        self.tell(row, "put away", error)
        if not self._stopped:
            self._clock.call_later(RETRY_PAUSE / 1000, lambda: self._try_again(row.id))

    def _try_again(self, actor_id: str) -> None:
        self._tasks.start(self.try_wake(actor_id))

    def tell(self, row: ActorRow, what: str, error: Exception) -> None:
        """Tell whoever watches what happened to an actor, and why."""
        why = error.message if isinstance(error, RivetError) else f"{type(error).__name__}: {error}"
        told = HostEvent("actor_failed", row, f"{what}: {why}", logging.ERROR, failure=failure_of(error))
        self._watch(told)
