"""Testing actors and workflows: an engine in memory, a clock that is moved by hand, crashes where you want them.

    async with test_engine(registry) as t:
        order = t.client.shop.get_or_create("o1")
        await order.send("orders", {"item": 1})
        await t.advance(days=30)
        assert (await t.workflow("shop", "o1")).status == "completed"

Nothing listens and nothing sleeps: `TestEngine.advance` moves the time from one timer to the next. What a step does to
the world it does for real, so give it a stand-in. Time limits of actions are in real time.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import heapq
import itertools
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

from starlette.types import Receive, Scope, Send

from rivetpy.client.backend import Remote
from rivetpy.client.endpoint import Endpoint
from rivetpy.client.handles import Client
from rivetpy.client.inprocess import InProcessTransport
from rivetpy.client.requests import Requests
from rivetpy.codec import Value
from rivetpy.engine.app import create_app
from rivetpy.errors import actor_not_found
from rivetpy.host import Host, HostEvent
from rivetpy.host.view import ActorView, WorkflowView
from rivetpy.identity import Key, key_of
from rivetpy.registry import Registry
from rivetpy.store import ActorRow, Batch, Ids, Listing, Page, Pairs
from rivetpy.store.memory import MemoryStore

__all__ = ["Crashed", "ManualClock", "TestEngine", "test_engine"]

#: Where the time of a test begins (epoch ms): 2026-01-01T00:00:00Z.
BEGINNING = 1_767_225_600_000
#: Turns of the event loop without news after which everything that can happen has.
_QUIET_TURNS = 20
#: How long (seconds, real) a step that makes no progress may hold up the time.
_PATIENCE = 0.2


class Crashed(Exception):
    """The engine died where the test wanted it to; `TestEngine.restart` starts another on what it had committed."""


@dataclass(order=True)
class _ManualTimer:
    when: int
    number: int
    callback: Callable[[], None] = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        """Never call back."""
        self.cancelled = True


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, beginning: int = BEGINNING) -> None:
        self._now = beginning
        self._timers: list[_ManualTimer] = []
        self._numbers = itertools.count()

    def now(self) -> int:
        """Milliseconds since the epoch."""
        return self._now

    def call_at(self, when: int, callback: Callable[[], None]) -> _ManualTimer:
        """Call back once the time is moved to ``when`` (epoch ms) or beyond."""
        timer = _ManualTimer(when, next(self._numbers), callback)
        if when <= self._now:  # not before the caller has what it needs to cancel it
            asyncio.get_running_loop().call_soon(self._fire, timer)
        else:
            heapq.heappush(self._timers, timer)
        return timer

    def call_later(self, seconds: float, callback: Callable[[], None]) -> _ManualTimer:
        """Call back after a span of time."""
        return self.call_at(self._now + round(seconds * 1000), callback)

    def step(self, until: int) -> bool:
        """Move to the next timer up to a moment and let it ring; False, and the moment, when there is none."""
        while self._timers and self._timers[0].when <= until:
            timer = heapq.heappop(self._timers)
            if not timer.cancelled:
                self._now = max(self._now, timer.when)
                self._fire(timer)
                return True
        self._now = max(self._now, until)
        return False

    @staticmethod
    def _fire(timer: _ManualTimer) -> None:
        if not timer.cancelled:
            timer.callback()


class _MortalStore:
    """A store in memory whose process may die: what is asked of it then is not answered before it is closed."""

    def __init__(self, inner: MemoryStore) -> None:
        self._inner = inner
        self._unanswered: list[asyncio.Future[None]] = []
        self.commits = 0
        self.dead = self._closed = False
        self.die_before: int | None = None
        self.die_after: int | None = None

    def commit(self, batch: Batch) -> asyncio.Future[None]:
        self.commits += 1
        self.dead = self.dead or self.commits == self.die_before
        if self.dead:
            return self._silence()
        done = self._inner.commit(batch)
        self.dead = self.commits == self.die_after
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
        """Whoever still waits for an answer is gone too, and so is who asks from now on."""
        self.dead = self._closed = True
        for future in self._unanswered:
            future.cancel()

    async def _alive(self) -> None:
        if self.dead:
            await self._silence()

    def _silence(self) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._unanswered.append(future)
        if self._closed:
            future.cancel()
        return future


class TestEngine:
    """An engine for one test; made by `test_engine`."""

    __test__ = False  # pytest: not a class of tests

    def __init__(self, registry: Registry, *, strict_replay: bool = False) -> None:
        self.registry = registry
        self.clock = ManualClock()
        #: Everything the engine had to tell: runs that started and failed, steps that failed, …
        self.events: list[HostEvent] = []
        self._strict_replay = strict_replay
        self._memory = MemoryStore()
        #: The pulse at which a running step was last found to make no progress.
        self._stuck: tuple[int, ...] | None = None
        self._files = tempfile.TemporaryDirectory(prefix="rivet-")
        self._start()
        endpoint = Endpoint("http", "localhost", 80)
        #: As `rivetpy.client.create_client`, without a network. It stays over restarts, as a client elsewhere would.
        self.client = Client(Remote(Requests(endpoint), InProcessTransport(endpoint, self._serve)))

    def _start(self) -> None:
        self._store = _MortalStore(self._memory)
        self.host = Host(
            self.registry,
            self._store,
            self.clock,
            always_replay=self._strict_replay,
            on_event=self.events.append,
            files=Path(self._files.name),
        )
        self._app = create_app(self.host)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    # -- time --------------------------------------------------------------------------------------------

    async def advance(
        self, seconds: float = 0, *, days: float = 0, hours: float = 0, minutes: float = 0
    ) -> None:
        """Move the time forward, ringing every timer on the way and letting each do its work.

        Raises `Crashed` when the engine dies meanwhile.
        """
        span = dt.timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        until = self.clock.now() + round(span.total_seconds() * 1000)
        await self.settle()
        while self.clock.step(until):
            await self.settle()
        await self.settle()

    async def settle(self) -> None:
        """Wait until nothing happens any more without time moving. Raises `Crashed` when the engine dies."""
        loop = asyncio.get_running_loop()
        seen, quiet, patience = self._pulse(), 0, loop.time() + _PATIENCE
        while quiet < _QUIET_TURNS:
            if self._store.dead:
                raise Crashed("the engine died; `await t.restart()` starts another on what it had committed")
            # A step that is busy outside is waited for; one that made no progress before waits for time to pass.
            outside = self.host.bodies > 0 and seen != self._stuck
            await asyncio.sleep(0.001 if outside else 0)
            if (now := self._pulse()) != seen:
                seen, quiet, patience = now, 0, loop.time() + _PATIENCE
            elif not outside:
                quiet += 1
            elif loop.time() > patience:
                self._stuck = seen

    def _pulse(self) -> tuple[int, ...]:
        return (*self.host.pulse, self.host.bodies, self._store.commits)

    # -- crashes -----------------------------------------------------------------------------------------

    def crash_before_write(self, number: int) -> None:
        """Have the engine die instead of its ``number``-th commit from now on (1: the next)."""
        self._store.die_before = self._store.commits + number

    def crash_after_write(self, number: int) -> None:
        """Have the engine die right after its ``number``-th commit from now on, before anybody hears of it."""
        self._store.die_after = self._store.commits + number

    async def restart(self, registry: Registry | None = None) -> None:
        """End this engine as ``kill -9`` does and start another on what was committed, with other code if given."""
        await self.end()
        self.registry = registry or self.registry
        self._start()
        await self.host.start()
        await self.settle()

    async def end(self) -> None:
        """End the engine as ``kill -9`` does."""
        await self._store.close()
        await self.host.drop()

    def remove_files(self) -> None:
        """Delete what the actors kept in databases of their own."""
        self._files.cleanup()

    # -- looking -----------------------------------------------------------------------------------------

    async def view(self, actor: str, key: str | list[str] = "main") -> ActorView:
        """Everything there is to see of an actor. Raises RivetError ``actor.not_found``."""
        row = await self.host.find("default", actor, key_of(key))
        if row is None:
            raise actor_not_found(f"{actor} {key}")
        return await self.host.view(row.id)

    async def workflow(self, actor: str, key: str | list[str] = "main") -> WorkflowView:
        """How an actor's workflow stands: status, output, failure, waits, entries."""
        view = await self.view(actor, key)
        assert view.workflow is not None, f"{actor} has no workflow"
        return view.workflow

    async def state(self, actor: str, key: str | list[str] = "main") -> Value:
        """An actor's state."""
        return (await self.view(actor, key)).state


@contextlib.asynccontextmanager
async def test_engine(registry: Registry, *, strict_replay: bool = False) -> AsyncIterator[TestEngine]:
    """An engine over a registry, for as long as the block.

    ``strict_replay`` runs every workflow again from the top after each wait: what only works while it stays in
    memory shows at once.
    """
    engine = TestEngine(registry, strict_replay=strict_replay)
    await engine.host.start()
    try:
        yield engine
    finally:
        await engine.client.close()
        await engine.end()
        engine.remove_files()


test_engine.__test__ = False  # type: ignore[attr-defined]  # pytest: not a test
