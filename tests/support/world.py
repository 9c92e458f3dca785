"""A world for one actor: lives of an engine over one store, ended by crashes, with a patient client."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Collection, Coroutine, Iterable
from pathlib import Path
from typing import Any

from rivetpy import codec
from rivetpy.actors import ActorDefinition
from rivetpy.host import Host, HostEvent
from rivetpy.host.view import ActorView
from rivetpy.registry import setup
from rivetpy.store import Store
from rivetpy.store.faulty import Died, FaultyStore
from rivetpy.store.memory import MemoryStore
from rivetpy.store.sqlite import SqliteStore
from rivetpy.workflow.entries import (
    BlockEntry,
    Entry,
    JoinEntry,
    LoopEntry,
    MessageEntry,
    RaceEntry,
    StepEntry,
    VersionEntry,
)
from tests.support.jump import JumpClock, run

NAME, KEY = "subject", ("main",)


class World:
    """One actor of one definition; its store outlives every engine."""

    def __init__(
        self, definition: ActorDefinition, *, always_replay: bool = False, directory: Path | None = None
    ) -> None:
        self.definition = definition
        self.always_replay = always_replay
        self.events: list[HostEvent] = []
        self.commits = 0
        self.time = 0.0
        self._memory = MemoryStore()
        self._directory = directory
        self._host: Host | None = None

    # -- lives -------------------------------------------------------------------------------------------

    def live(
        self,
        script: Callable[[Host, str], Coroutine[Any, Any, Any]],
        *,
        die_before: int | None = None,
        die_after: int | None = None,
        refuse: Iterable[int] = (),
        clean: bool = True,
        create: bool = True,
    ) -> Any:
        """Start an engine, run the script, end it: cleanly, or (``clean=False``, or `Died`) as kill -9 does."""

        async def life() -> Any:
            asyncio.get_running_loop().set_exception_handler(_not_about_death)
            store = MortalStore(
                await self._open(), die_before=die_before, die_after=die_after, refuse=frozenset(refuse)
            )
            host = Host(
                setup(use={NAME: self.definition}),
                store,
                JumpClock(),
                always_replay=self.always_replay,
                on_event=self.events.append,
            )
            try:
                await host.start()
                actor_id = (await host.get_or_create("default", NAME, KEY))[0].id if create else ""
                result = await _or_death(store, script(host, actor_id))
                if clean:
                    await host.stop()
                if store.dead:
                    raise Died("the engine died while stopping")
                return result
            finally:
                self.commits = store.commits
                self.time = asyncio.get_running_loop().time()
                if not clean or store.dead:
                    store.dead = True
                await store.inner.close()

        return run(life(), self.time)

    async def _open(self) -> Store:
        return self._memory if self._directory is None else SqliteStore.open(self._directory / "journal.db")

    # -- looking -----------------------------------------------------------------------------------------

    def view(self) -> ActorView:
        """What is stored, seen without an engine."""
        from rivetpy.host.offline import view_rows

        async def look() -> ActorView:
            store = await self._open()
            row = await store.find("default", NAME, KEY)
            assert row is not None
            view = view_rows(row, await store.load(row.id))
            await store.close()
            return view

        return run(look())

    def rows(self) -> list[tuple[bytes, bytes]]:
        """Every stored byte of the actor."""

        async def look() -> list[tuple[bytes, bytes]]:
            store = await self._open()
            row = await store.find("default", NAME, KEY)
            assert row is not None
            rows = await store.load(row.id)
            await store.close()
            return rows

        return run(look())

    def journal(self) -> list[Entry]:
        """The stored entries."""
        workflow = self.view().workflow
        assert workflow is not None
        return list(workflow.entries)

    def recorded_steps(self) -> set[str]:
        """Locations of the finished steps; empty before the actor exists."""
        try:
            entries = self.journal()
        except AssertionError:
            return set()
        return {e.location for e in entries if isinstance(e, StepEntry) and e.finished}

    def recorded_keys(self) -> set[str]:
        """The idempotency keys of the finished steps."""
        try:
            actor_id = self.view().row.id
        except AssertionError:
            return set()
        return {
            hashlib.blake2b(f"{actor_id}:{location}".encode(), digest_size=16).hexdigest()
            for location in self.recorded_steps()
        }

    def said(self, kind: str) -> list[str]:
        """Texts of the events of a kind."""
        return [event.text for event in self.events if event.kind == kind]


class MortalStore(FaultyStore):
    """Says when it dies."""

    def __init__(self, inner: Store, **options: Any) -> None:
        super().__init__(inner, **options)
        self.death: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def die(self) -> None:
        self.death.set_result(None)
        super().die()


def _not_about_death(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Tasks of a dead engine have nothing to report."""
    if not isinstance(context.get("exception"), Died):
        loop.default_exception_handler(context)


async def _or_death(store: MortalStore, work: Coroutine[Any, Any, Any]) -> Any:
    """The script's result; `Died` as soon as the store is dead."""
    task = asyncio.get_running_loop().create_task(work)
    await asyncio.wait([task, store.death], return_when=asyncio.FIRST_COMPLETED)
    if store.death.done():
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise Died("the engine died")
    return task.result()


async def until(host: Host, actor_id: str, *statuses: str, seconds: float = 1e9) -> ActorView:
    """Wait (virtually) until the workflow has one of the statuses."""
    wanted = statuses or ("completed", "failed", "diverged")
    pause = 0.1
    async with asyncio.timeout(seconds):
        while (view := await host.view(actor_id)).workflow is None or view.workflow.status not in wanted:
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 86400)
    return view


def plain(
    entries: Iterable[Entry], *, crashed: bool = False, differs: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Entries as comparable dicts, without times and without the values of the names that differ.

    ``crashed``: also without what a crash may change: attempts it counted as, and the order of concurrent entries.
    """
    items = [_plain(entry, crashed) for entry in entries]
    for item in items:
        if item["at"] in differs:
            item["output"] = "…"
    return sorted(items, key=lambda item: str(item["at"])) if crashed else items


def _plain(entry: Entry, crashed: bool) -> dict[str, Any]:
    item: dict[str, Any] = {"at": entry.location, "kind": str(entry.kind), "status": str(entry.status)}
    if not crashed:
        item["seq"] = entry.seq
    if isinstance(entry, StepEntry):
        item |= {"output": _value(entry.output), "reason": entry.reason}
        if not crashed:
            item |= {"attempts": entry.attempts, "failure": entry.failure and str(entry.failure)}
    if isinstance(entry, LoopEntry):
        item |= {"iteration": entry.iteration, "state": _value(entry.state), "first": entry.first}
        item |= {"output": _value(entry.output)}
    if isinstance(entry, JoinEntry | RaceEntry):
        item |= {
            "branches": {
                name: (str(branch.status), _value(branch.output), branch.failure and branch.failure.type)
                for name, branch in entry.branches.items()
            },
            "winner": getattr(entry, "winner", None),
        }
    if isinstance(entry, BlockEntry):
        item |= {"output": _value(entry.output), "source": entry.source}
    if isinstance(entry, VersionEntry):
        item |= {"version": entry.resolved}
    if isinstance(entry, MessageEntry):
        item |= {"messages": [(m.id, m.queue, codec.decode(m.body)) for m in entry.messages]}
        item |= {"completed": entry.completed}
    return item


def _value(data: bytes | None) -> Any:
    return None if data is None else codec.decode(data)
