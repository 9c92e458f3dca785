"""Time as the project sees it: integer milliseconds, and waiting that survives long spans and clock changes."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

#: Waits are cut into pieces of this length (seconds), so a wall clock that is set forwards or
#: backwards is noticed within one piece, and no timer of the event loop ever sees a huge number.
LONGEST_NAP = 60.0


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> int:
        """Milliseconds since the epoch."""
        ...


class SystemClock:
    """The wall clock of the machine."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000


async def sleep_until(clock: Clock, when: int) -> None:
    """Return once ``clock`` reads ``when`` (epoch ms) or later."""
    while (left := when - clock.now()) > 0:
        await asyncio.sleep(min(left / 1000, LONGEST_NAP))
