"""The engines that one test opens, and their end: what the fixture `rivet_engine` is."""

from __future__ import annotations

import asyncio
import contextlib

from rivetpy.registry import Registry
from rivetpy.testing.engine import TestEngine, test_engine


class Engines:
    """Opens engines, in the event loop that the test runs in: ``t = await rivet_engine(registry)``."""

    def __init__(self) -> None:
        self._open = contextlib.AsyncExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, registry: Registry, *, strict_replay: bool = False) -> TestEngine:
        """Another engine, over an empty store; for the options see `test_engine`. It ends with the test."""
        self._loop = asyncio.get_running_loop()
        return await self._open.enter_async_context(test_engine(registry, strict_replay=strict_replay))

    async def end(self) -> None:
        """End them all."""
        await self._open.aclose()

    def close(self) -> None:
        """End those that are still there: a loop that was closed took its own with it, as it does all generators."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.run_until_complete(self.end())
