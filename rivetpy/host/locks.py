"""One lock per name, for as long as anybody holds or awaits it."""

from __future__ import annotations

import asyncio
import weakref


class Locks:
    """``async with locks(what):``"""

    def __init__(self) -> None:
        self._locks: weakref.WeakValueDictionary[object, asyncio.Lock] = weakref.WeakValueDictionary()

    def __call__(self, what: object) -> asyncio.Lock:
        """The lock of a name."""
        lock = self._locks.get(what)
        if lock is None:
            lock = self._locks[what] = asyncio.Lock()
        return lock
