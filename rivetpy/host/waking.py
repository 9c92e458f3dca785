"""Waking actors that nobody is waiting for: after a start, and when their alarm is due."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from rivetpy.clock import Clock
from rivetpy.errors import StoreError
from rivetpy.store import Store

#: How many actors are loaded at a time when many have to go on.
AT_ONCE = 64
#: Pause before an actor that could not be woken, or whose store failed, is tried again (ms).
RETRY_PAUSE = 5_000


class Waker:
    """Finds due alarms by index, not by a timer each.

    ``wake`` brings an actor into memory; ``put_off`` gives one that could not be woken, and why, a later alarm.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        wake: Callable[[str], Awaitable[object]],
        put_off: Callable[[str, Exception], Awaitable[None]],
    ) -> None:
        self._store = store
        self._clock = clock
        self._wake = wake
        self._put_off = put_off
        #: To be set when an actor got an alarm.
        self.changed = asyncio.Event()

    async def watch(self) -> None:
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
