"""An event loop in a thread of its own, for callers that have none: what the synchronous client runs on."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import queue
import threading
import weakref
from collections.abc import Awaitable, Callable
from typing import TypeVar

from rivetpy.errors import RivetError

log = logging.getLogger("rivetpy.client")

T = TypeVar("T")


class Portal:
    """Runs coroutines for any number of threads; the loop's thread begins with the first, and ends with ``at_end``.

    A forked child begins anew: it shares its parent's sockets, and leaves them alone.
    """

    def __init__(self, at_end: Callable[[], Awaitable[object]]) -> None:
        self._lock = threading.Lock()
        self._at_end = at_end
        self._running: _Running | None = None
        self._closed = False
        #: How many processes above this one have used it.
        self.generation = 0
        _portals.add(self)

    def run(self, make: Callable[[], Awaitable[T]]) -> T:
        """What a coroutine that is made and awaited in the loop returns.

        Ctrl-C cancels it. Raises what it raises, and RivetError ``client.closed``, ``client.blocks_itself``.
        """

        async def work() -> T:
            return await make()

        with self._lock:  # what comes before the end is cancelled by it; what came after would never be done
            running = self._started()
            if running.thread is threading.current_thread():
                raise RivetError(
                    "client",
                    "blocks_itself",
                    "A synchronous call from the client's own thread would wait for ever.",
                )
            done = asyncio.run_coroutine_threadsafe(work(), running.loop)
        try:
            return done.result()
        except BaseException as error:
            done.cancel()
            if running.ended and not self._closed:
                threading.Event().wait()  # the process ends, and this thread with it: there is nobody to tell
            if isinstance(error, concurrent.futures.CancelledError):
                raise _closed() from None
            raise

    def close(self) -> None:
        """End the loop and whatever runs in it. Later calls raise RivetError ``client.closed``."""
        with self._lock:
            running, self._running, self._closed = self._running, None, True
        if running is not None:
            running.finalizer()

    def _started(self) -> _Running:
        if self._closed or (self._running is not None and self._running.ended):
            raise _closed()
        if self._running is None:
            self._running = _Running(self, self._at_end)
        return self._running

    def _forked(self) -> None:
        self._lock = threading.Lock()
        self.generation += 1
        if self._running is not None:
            self._running.finalizer.detach()
            _of_parents.append(self._running)
            self._running = None


class _Running:
    """A loop, and the thread it runs in; both end with the portal, at the latest with the process."""

    def __init__(self, portal: Portal, at_end: Callable[[], Awaitable[object]]) -> None:
        self.loop, end = asyncio.new_event_loop(), asyncio.Event()
        self.thread = threading.Thread(
            target=_serve, args=(self.loop, end, at_end), name="rivetpy-client", daemon=True
        )
        self.finalizer = weakref.finalize(portal, _stop, self.loop, end, self.thread)
        self.thread.start()

    @property
    def ended(self) -> bool:
        """Whether it was told to end, which the process does at its own end when nobody else has."""
        return not self.finalizer.alive


def _serve(
    loop: asyncio.AbstractEventLoop, end: asyncio.Event, at_end: Callable[[], Awaitable[object]]
) -> None:
    async def until_stopped() -> None:
        await end.wait()
        await at_end()

    with asyncio.Runner(loop_factory=lambda: loop) as runner:  # which cancels what is left
        runner.run(until_stopped())


def _stop(loop: asyncio.AbstractEventLoop, end: asyncio.Event, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(end.set)
    if thread is not threading.current_thread():
        thread.join(10)


def _closed() -> RivetError:
    return RivetError("client", "closed", "This client was closed; make another one.")


_portals: weakref.WeakSet[Portal] = weakref.WeakSet()
#: Loops that a forked child must not close: their selector is the parent's, too.
_of_parents: list[_Running] = []


def _after_fork() -> None:
    for portal in list(_portals):
        portal._forked()


os.register_at_fork(after_in_child=_after_fork)


class Aside:
    """Calls functions one after the other in a thread of their own, where they may block."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="rivetpy-listeners", daemon=True).start()

    def call(self, function: Callable[[], object]) -> None:
        """Have it called after those before it. What it raises is logged."""
        self._waiting.put(function)

    def end(self) -> None:
        """No more are called after those that wait."""
        self._waiting.put(None)

    def _serve(self) -> None:
        while (function := self._waiting.get()) is not None:
            try:
                function()
            except Exception:
                log.exception("a listener failed")
