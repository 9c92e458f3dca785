"""Time as the project sees it: integer milliseconds, timers on a clock that tests can replace."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self


class Timer(Protocol):
    """Something that will call back."""

    def cancel(self) -> None:
        """Never call back, if it has not yet."""
        ...


class Clock(Protocol):
    """Where the time comes from, and who tells when it has come."""

    def now(self) -> int:
        """Milliseconds since the epoch."""
        ...

    def call_at(self, when: int, callback: Callable[[], None]) -> Timer:
        """Call back once `now` reads ``when`` (epoch ms) or later; at the earliest in the loop's next turn."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call back after a span of time, whatever the clock is set to meanwhile."""
        ...


class SystemClock:
    """The wall clock of the machine, which may be set forwards and backwards at any time."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def call_at(self, when: int, callback: Callable[[], None]) -> Timer:
        return _Alarm(self, when, callback)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, callback)


#: Waits are cut into pieces of at most this (seconds): a clock that was set is noticed after one piece, and no
#: timer of the event loop ever sees a huge number.
_LONGEST_NAP = 60.0


class _Alarm:
    """A callback at a moment of the wall clock; waits in pieces."""

    def __init__(self, clock: Clock, when: int, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._when = when
        self._callback = callback
        self._handle: asyncio.TimerHandle | None = None
        self._check()

    def _check(self) -> None:
        left = (self._when - self._clock.now()) / 1000
        then = self._callback if left <= 0 else self._check
        self._handle = asyncio.get_running_loop().call_later(min(max(left, 0), _LONGEST_NAP), then)

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()


class TimeLimit:
    """`asyncio.timeout` by a clock's time: cancels what is inside after ``seconds`` (None: never).

    Every step has one: a plain context manager and one timer cost half of what asyncio's takes.
    """

    def __init__(self, clock: Clock, seconds: float | None) -> None:
        self._clock = clock
        self._seconds = seconds
        self._timer: Timer | None = None
        self._expired = False

    def expired(self) -> bool:
        """Whether the time is over."""
        return self._expired

    def __enter__(self) -> Self:
        if self._seconds is not None:
            task = asyncio.current_task()
            assert task is not None
            self._task, self._cancelling = task, task.cancelling()
            self._timer = self._clock.call_later(self._seconds, self._expire)
        return self

    def _expire(self) -> None:
        self._expired = True
        self._task.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._expired and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error
