"""An event loop whose time jumps when nothing is ready: tests of long waits take no time at all."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

#: Where the clock of a test begins (epoch ms): 2026-01-01T00:00:00Z.
EPOCH = 1_767_225_600_000
#: A test that never ends fails instead, after this many virtual seconds.
LONGEST_TEST = 200 * 365 * 86400.0


class _JumpingSelector(selectors.DefaultSelector):
    """Instead of waiting for the next timer, moves the loop's time to it."""

    def __init__(self, start: float) -> None:
        super().__init__()
        self.time = start
        #: Work in threads: while there is any, waiting is real.
        self.threads = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.threads:
            pause = 0.01 if timeout is None else min(timeout, 0.01)
            ready = super().select(pause)
            self.time += 0 if ready else max(0, pause)
            return ready
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("the test is stuck: nothing is ready and no timer is set")
        if not ready and timeout is not None and timeout > 0:
            self.time += timeout
        return ready


class JumpLoop(asyncio.SelectorEventLoop):
    """Real sockets are not for this loop: their traffic would race with its timers."""

    def __init__(self, start: float = 0.0) -> None:
        self._jumping = _JumpingSelector(start)
        super().__init__(self._jumping)
        self._clock_resolution = 1e-6  # far from its beginning, the time has no finer digits

    def time(self) -> float:
        return self._jumping.time

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        future = super().run_in_executor(executor, func, *args)
        self._jumping.threads += 1
        future.add_done_callback(self._thread_done)
        return future

    def _thread_done(self, _: object) -> None:
        self._jumping.threads -= 1


class JumpClock:
    """The time of the running jump loop, as the project's Clock; nobody sets it."""

    def now(self) -> int:
        return EPOCH + round(asyncio.get_running_loop().time() * 1000)

    def call_at(self, when: int, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return self.call_later((when - self.now()) / 1000, callback)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(max(0.0, seconds), callback)


def run(main: Coroutine[Any, Any, T], start: float = 0.0) -> T:
    """Run a test's coroutine on a fresh jumping loop, whose time begins at ``start`` seconds."""

    async def bounded() -> T:
        async with asyncio.timeout(LONGEST_TEST):
            return await main

    with asyncio.Runner(loop_factory=lambda: JumpLoop(start)) as runner:
        return runner.run(bounded())
