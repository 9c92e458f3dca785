"""A clock that is moved by hand, for tests: see `ManualClock`."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

#: Where the time of a test begins (epoch ms): 2026-01-01T00:00:00Z.
BEGINNING = 1_767_225_600_000


@dataclass(order=True)
class _ManualTimer:
    when: int
    number: int
    callback: Callable[[], None] = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        """Never call back."""
        self.cancelled = True


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, beginning: int = BEGINNING) -> None:
        self._now = beginning
        self._timers: list[_ManualTimer] = []
        self._numbers = itertools.count()

    def now(self) -> int:
        """Milliseconds since the epoch."""
        return self._now

    def call_at(self, when: int, callback: Callable[[], None]) -> _ManualTimer:
        """Call back once the time is moved to ``when`` (epoch ms) or beyond."""
        timer = _ManualTimer(when, next(self._numbers), callback)
        if when <= self._now:  # not before the caller has what it needs to cancel it
            asyncio.get_running_loop().call_soon(self._fire, timer)
        else:
            heapq.heappush(self._timers, timer)
        return timer

    def call_later(self, seconds: float, callback: Callable[[], None]) -> _ManualTimer:
        """Call back after a span of time."""
        return self.call_at(self._now + round(seconds * 1000), callback)

    def step(self, until: int) -> bool:
        """Move to the next timer up to a moment and let it ring; False, and the moment, when there is none."""
        while self._timers and self._timers[0].when <= until:
            timer = heapq.heappop(self._timers)
            if not timer.cancelled:
                self._now = max(self._now, timer.when)
                self._fire(timer)
                return True
        self._now = max(self._now, until)
        return False

    @staticmethod
    def _fire(timer: _ManualTimer) -> None:
        if not timer.cancelled:
            timer.callback()
