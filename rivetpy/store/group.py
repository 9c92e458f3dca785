"""Group commit: whatever is handed in before the next turn of the event loop shares one transaction.

The transaction runs on the event loop itself: a hop to a thread costs as much as a sync of a good disk. Where
syncing turns out to be slow, the sync alone moves to a thread, so that the event loop stays alive.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from rivetpy.errors import StoreError
from rivetpy.store import Batch
from rivetpy.store.refusals import Refusals
from rivetpy.store.trouble import refused
from rivetpy.unbroken import Unbroken

#: A sync that takes longer than this on average (seconds) is not waited for on the event loop.
SLOW = 0.005
#: One sync in so many is timed on the event loop all the same: under load a thread can't time one fairly.
PROBE = 32

Result = StoreError | None
Group = list[tuple[Batch, asyncio.Future[None]]]


class Transaction(Protocol):
    """What a group is written with. Both methods leave nothing of the group behind when they fail."""

    def apply(self, batches: list[Batch]) -> list[Result]:
        """Begin, and make the changes: for each batch None, or why it alone was refused."""
        ...

    def sync(self) -> Result:
        """Make the changes durable. May run in another thread, never at the same time as `apply`."""
        ...


class GroupCommit:
    """Collects batches and writes them in the order they came."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._waiting: Group = []
        self._refusals = Refusals()
        self._scheduled: asyncio.AbstractEventLoop | None = None
        self._syncing: asyncio.Future[Result] | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._pace = 0.0  # moving average of the time of a sync, in seconds
        self._groups = 0
        self._closed = False

    def commit(self, batch: Batch) -> asyncio.Future[None]:
        """Hand a batch in; the future is done when it is durable, and can't be cancelled."""
        if self._closed:
            return refused(StoreError("closed", "The store is closed; nothing more can be committed."))
        if (behind := self._refusals.of(batch.actor)) is not None:
            return refused(behind)
        loop = asyncio.get_running_loop()
        done = Unbroken[None](loop=loop)
        self._waiting.append((batch, done))
        if self._scheduled is not loop and self._syncing is None:
            self._scheduled = loop
            loop.call_soon(self._flush)
        return done

    async def close(self) -> None:
        """Finish what was handed in and take no more."""
        self._closed = True
        while self._syncing or self._waiting:
            if self._syncing:
                await asyncio.wait([self._syncing])
            else:
                self._flush()
        if self._thread:
            self._thread.shutdown()

    def _flush(self) -> None:
        self._scheduled = None
        if self._syncing or not self._waiting:
            return
        group, self._waiting = self._without_refused(self._waiting), []
        with self._ending(group):
            results = self._transaction.apply([batch for batch, _ in group])
            self._groups += 1
            if self._pace > SLOW and self._groups % PROBE:
                self._sync_in_thread(group, results)
            else:
                self._answer(group, _with(self._timed_sync(), results))

    @contextlib.contextmanager
    def _ending(self, group: Group) -> Iterator[None]:
        """Ctrl-C, or a mistake of ours: nobody may wait for ever."""
        try:
            yield
        except BaseException:
            unknown = StoreError(
                "interrupted", "The write was interrupted; it may or may not have been kept."
            )
            self._answer(group, _with(unknown, [None] * len(group)))
            raise

    def _timed_sync(self) -> Result:
        begun = time.perf_counter()
        result = self._transaction.sync()
        self._pace += (time.perf_counter() - begun - self._pace) / 4
        return result

    def _sync_in_thread(self, group: Group, results: list[Result]) -> None:
        self._thread = self._thread or ThreadPoolExecutor(1, "rivet-sync")
        self._syncing = asyncio.get_running_loop().run_in_executor(self._thread, self._transaction.sync)

        def synced(syncing: asyncio.Future[Result]) -> None:
            self._syncing = None
            try:
                with self._ending(group):
                    self._answer(group, _with(syncing.result(), results))
            finally:
                self._flush()

        self._syncing.add_done_callback(synced)

    def _without_refused(self, group: Group) -> Group:
        """The group without the batches that were handed in behind a refused one."""
        refused = {batch.actor: error for batch, _ in group if (error := self._refusals.of(batch.actor))}
        if not refused:
            return group
        behind = [item for item in group if item[0].actor in refused]
        self._answer(behind, [refused[batch.actor] for batch, _ in behind])
        return [item for item in group if item[0].actor not in refused]

    def _answer(self, group: Group, results: list[Result]) -> None:
        for (batch, done), result in zip(group, results, strict=True):
            if done.done() or done.get_loop().is_closed():  # its caller is gone with its loop
                continue
            if result is None:
                done.set_result(None)
            else:
                self._refusals.tell(batch.actor, result)
                done.set_exception(result)


def _with(failure: Result, results: list[Result]) -> list[Result]:
    """When the whole group failed, that is what every batch of it hears."""
    return [StoreError(failure.code, failure.message) for _ in results] if failure else results
