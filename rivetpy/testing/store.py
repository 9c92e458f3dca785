"""A store whose process dies where a test wants it to: see `MortalStore`."""

from __future__ import annotations

import asyncio

from rivetpy.identity import Key
from rivetpy.store import ActorRow, Batch, Ids, Listing, Page, Pairs
from rivetpy.store.memory import MemoryStore


class MortalStore:
    """A store in memory whose process may die: what is asked of it then is never answered."""

    def __init__(self, inner: MemoryStore) -> None:
        self._inner = inner
        self._unanswered: list[asyncio.Future[None]] = []
        self.commits = 0
        #: Done when the process is dead.
        self.death: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._closed = False
        self.die_before: int | None = None
        self.die_after: int | None = None

    @property
    def dead(self) -> bool:
        """Whether nothing is answered any more."""
        return self.death.done()

    def commit(self, batch: Batch) -> asyncio.Future[None]:
        self.commits += 1
        if self.commits == self.die_before:
            self._die()
        if self.dead:
            return self._silence()
        done = self._inner.commit(batch)
        if self.commits == self.die_after:
            self._die()
        return self._silence() if self.dead else done

    async def get(self, actor: str) -> ActorRow | None:
        await self._alive()
        return await self._inner.get(actor)

    async def find(self, namespace: str, name: str, key: Key) -> ActorRow | None:
        await self._alive()
        return await self._inner.find(namespace, name, key)

    async def load(self, actor: str) -> Pairs:
        await self._alive()
        return await self._inner.load(actor)

    async def awake(self) -> Ids:
        await self._alive()
        return await self._inner.awake()

    async def due(self, now: int, limit: int) -> Ids:
        await self._alive()
        return await self._inner.due(now, limit)

    async def next_alarm(self) -> int | None:
        await self._alive()
        return await self._inner.next_alarm()

    async def list(self, listing: Listing) -> Page:
        await self._alive()
        return await self._inner.list(listing)

    async def close(self) -> None:
        """Whoever still waits for an answer, or will, is gone too."""
        self._die()
        self._closed = True
        for future in self._unanswered:
            future.cancel()

    def _die(self) -> None:
        if not self.death.done():
            self.death.set_result(None)

    async def _alive(self) -> None:
        if self.dead:
            await self._silence()

    def _silence(self) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._unanswered.append(future)
        if self._closed:
            future.cancel()
        return future
