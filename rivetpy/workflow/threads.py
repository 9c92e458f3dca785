"""Threads for step bodies that are a plain ``def``. One that is stuck takes no place from those that come later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from rivetpy.codec import Value

#: Bodies that run at a time; further ones wait.
MOST = 256


class Threads:
    """Where bodies run. Nobody can stop a thread: a body that was given up keeps its own until it ends by itself."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._given_up = 0
        self._pool = self._fresh()

    def _fresh(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(max_workers=self._most, thread_name_prefix="rivet-step")

    async def run(self, body: Callable[[], Value], on_given_up: Callable[[], None]) -> Value:
        """What the body returns. When this is cancelled while it runs, ``on_given_up`` is called, and it goes on."""
        running = False

        def tracked() -> Value:
            nonlocal running
            running = True
            try:
                return body()
            finally:
                running = False

        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, tracked)
        except asyncio.CancelledError:
            if running:
                self._lose_one()
                on_given_up()
            raise

    def _lose_one(self) -> None:
        """Half of the threads are lost: others take over. What waits in the old ones is done by those that are left."""
        self._given_up += 1
        if self._given_up * 2 >= self._most:
            self._given_up = 0
            self._pool.shutdown(wait=False)
            self._pool = self._fresh()
