"""A store that dies or refuses at a chosen commit: how crash tests cut a run at every write."""

from __future__ import annotations

import asyncio
from collections.abc import Container

from rivetpy.errors import StoreError
from rivetpy.identity import Key
from rivetpy.store import ActorRow, Batch, Ids, Listing, Page, Pairs, Store
from rivetpy.store.refusals import Refusals


class Died(BaseException):
    """The process of this store is dead: what it did before is in the inner store, nothing else will be."""


class FaultyStore:
    """Passes everything on to ``inner``, until its time comes. Commits are counted from 1.

    ``die_before`` commit n: n is not written; ``die_after``: n is written, but its caller never hears of it.
    From then on everything raises `Died` (but `close`, so that tests can tidy up). ``refuse``: these commits
    raise `StoreError` ``disk_full`` and write nothing. All three may be changed at any time.
    """

    def __init__(
        self,
        inner: Store,
        *,
        die_before: int | None = None,
        die_after: int | None = None,
        refuse: Container[int] = (),
    ) -> None:
        self.inner = inner
        self.die_before = die_before
        self.die_after = die_after
        self.refuse = refuse
        #: How many commits were asked for, refused ones and the deadly one included.
        self.commits = 0
        self.dead = False
        self._refusals = Refusals()

    async def get(self, actor: str) -> ActorRow | None:
        self._check()
        return await self.inner.get(actor)

    async def find(self, namespace: str, name: str, key: Key) -> ActorRow | None:
        self._check()
        return await self.inner.find(namespace, name, key)

    async def list(self, listing: Listing) -> Page:
        self._check()
        return await self.inner.list(listing)

    async def load(self, actor: str) -> Pairs:
        self._check()
        return await self.inner.load(actor)

    def commit(self, batch: Batch) -> asyncio.Future[None]:
        return asyncio.ensure_future(self._commit(batch, self._refusals.of(batch.actor)))

    async def _commit(self, batch: Batch, behind: StoreError | None) -> None:
        self._check()
        self.commits += 1
        number = self.commits
        if number == self.die_before:
            self.die()
        error = behind or self._refusals.of(batch.actor)
        if error is None and number in self.refuse:
            error = StoreError("disk_full", f"The test's disk is full at commit {number}.")
        if error is not None:
            self._refusals.tell(batch.actor, error)
            raise error
        await self.inner.commit(batch)
        if number == self.die_after:
            self.die()
        self._check()  # others may have died meanwhile

    async def awake(self) -> Ids:
        self._check()
        return await self.inner.awake()

    async def due(self, now: int, limit: int) -> Ids:
        self._check()
        return await self.inner.due(now, limit)

    async def next_alarm(self) -> int | None:
        self._check()
        return await self.inner.next_alarm()

    async def close(self) -> None:
        if not self.dead:
            await self.inner.close()

    def die(self) -> None:
        """Be dead from now on. Raises `Died`."""
        self.dead = True
        self._check()

    def _check(self) -> None:
        if self.dead:
            raise Died(f"the store died at commit {self.commits}")
