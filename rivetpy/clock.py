"""Time as the project sees it: integer milliseconds, and waiting that survives long spans and clock changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """Where the time comes from."""

    @property
    def longest_nap(self) -> float:
        """Waits are cut into pieces of at most this (seconds): a clock that was set is noticed after one piece,
        and no timer of the event loop ever sees a huge number."""
        ...

    def now(self) -> int:
        """Milliseconds since the epoch."""
        ...


class SystemClock:
    """The wall clock of the machine, which may be set forwards and backwards at any time."""

    longest_nap = 60.0

    def now(self) -> int:
        return time.time_ns() // 1_000_000


async def sleep_until(clock: Clock, when: int) -> None:
    """Return once ``clock`` reads ``when`` (epoch ms) or later."""
    while (left := when - clock.now()) > 0:  # noqa: ASYNC110 - it is time itself that is waited for
        await asyncio.sleep(min(left / 1000, clock.longest_nap))


class Alarm:
    """A callback at a point of a clock's time; re-checks in pieces, like `sleep_until`."""

    def __init__(self, clock: Clock, when: int, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._when = when
        self._callback = callback
        self._handle: asyncio.TimerHandle | None = None
        self._check()

    def _check(self) -> None:
        left = self._when - self._clock.now()
        if left <= 0:
            self._handle = asyncio.get_running_loop().call_later(0, self._callback)
        else:
            self._handle = asyncio.get_running_loop().call_later(
                min(left / 1000, self._clock.longest_nap), self._check
            )

    def cancel(self) -> None:
        """Never call back, if it has not yet."""
        if self._handle is not None:
            self._handle.cancel()
