"""Functions that are told of something by its name, and events as they come, one after the other."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Self

from rivetpy.errors import RivetError
from rivetpy.wire.messages import Event

log = logging.getLogger("rivetpy.client")

#: Is called with what there is to tell; may be async, then its calls may overlap.
Listener = Callable[..., object]
Stop = Callable[[], None]
#: Events that wait for an iterator whose user is slower than they come.
MAX_WAITING = 10_000


class Listeners:
    """Functions by the name of what they listen to; ``changed`` is told when one gets its first, or has none left."""

    def __init__(self, changed: Callable[[str, bool], None] | None = None) -> None:
        self._by_name: dict[str, dict[object, Listener]] = {}
        self._changed = changed
        self._running: set[asyncio.Task[object]] = set()

    @property
    def names(self) -> list[str]:
        """What is listened to."""
        return list(self._by_name)

    def add(self, name: str, listener: Listener) -> Stop:
        """Have a function told; what this returns ends that, and may be called more than once."""
        told = self._by_name.setdefault(name, {})
        place = object()  # the same function may be added twice
        told[place] = listener
        if len(told) == 1 and self._changed is not None:
            self._changed(name, True)
        return lambda: self._remove(name, place)

    def once(self, name: str, listener: Listener) -> Stop:
        """Have a function told one time."""

        def first(*args: object) -> object:
            stop()
            return listener(*args)

        stop = self.add(name, first)
        return stop

    def tell(self, name: str, *args: object) -> None:
        """Call the functions. What they raise is logged: it is nobody else's business."""
        for listener in tuple(self._by_name.get(name, {}).values()):
            try:
                result = listener(*args)
            except Exception:
                log.exception("a listener to %r failed", name)
                continue
            if inspect.isawaitable(result):
                task = asyncio.create_task(self._finish(name, result))
                self._running.add(task)
                task.add_done_callback(self._running.discard)

    async def _finish(self, name: str, work: Awaitable[object]) -> None:
        try:
            await work
        except Exception:
            log.exception("a listener to %r failed", name)

    def _remove(self, name: str, place: object) -> None:
        told = self._by_name.get(name, {})
        if told.pop(place, None) is not None and not told:
            del self._by_name[name]
            if self._changed is not None:
                self._changed(name, False)


class Events:
    """Events of a connection as they come, from when it was made: ``async for event in conn.events("said")``.

    Each has a ``name`` and ``args``. Ends when the connection does; raises what that was refused with, and RivetError
    ``client.events_missed`` when so many wait that more would be too many.
    """

    def __init__(self) -> None:
        self._waiting: deque[Event] = deque()
        self._news = asyncio.Event()
        self._stops: list[Stop] = []
        self._ended = False
        self._error: RivetError | None = None

    def listen(self, stop: Stop) -> None:
        """What to call when nobody listens any more."""
        self._stops.append(stop)

    def put(self, event: Event) -> None:
        """An event came."""
        if len(self._waiting) >= MAX_WAITING:
            self.end(
                RivetError(
                    "client", "events_missed", f"{MAX_WAITING} events wait to be read; more were lost."
                )
            )
        elif not self._ended:
            self._waiting.append(event)
            self._news.set()

    def end(self, error: RivetError | None = None) -> None:
        """No more will come."""
        self._ended, self._error = True, error
        self._news.set()
        self.close()

    def close(self) -> None:
        """Listen no more; what came already can still be read."""
        self._ended = True
        self._news.set()
        while self._stops:
            self._stops.pop()()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while not self._waiting:
            if self._ended:
                raise self._error or StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._waiting.popleft()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
