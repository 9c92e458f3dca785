"""An engine in memory for one test: see `TestEngine`."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import tempfile
from collections.abc import AsyncIterator
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
from rivetpy.identity import key_of
from rivetpy.registry import Registry
from rivetpy.store.memory import MemoryStore
from rivetpy.testing.clock import ManualClock
from rivetpy.testing.store import MortalStore

#: Turns of the event loop without news after which everything that can happen has.
_QUIET_TURNS = 20
#: How long (seconds, real) a step that makes no progress may hold up the time.
_PATIENCE = 0.2


class Crashed(Exception):
    """The engine died where the test wanted it to; `TestEngine.restart` starts another on what it had committed."""


class TestEngine:
    """An engine for one test; made by `test_engine` and `Engines`.

    Nothing listens and nothing sleeps: `advance` moves the time from one timer to the next. What a step does to the
    world it does for real, so give it a stand-in. Time limits of actions are in real time.
    """

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
        self._store = MortalStore(self._memory)
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
        """As a network does it, cut off whoever asks an engine that is dead, or dies before it answers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        death = self._store.death
        serving = asyncio.ensure_future(self._app(scope, receive, send))
        try:
            if not death.done():
                await asyncio.wait((serving, death), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not serving.done():
                serving.cancel()
        if death.done():
            raise asyncio.CancelledError
        await serving

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
            self._check_alive()
            # A step that is busy outside is waited for; one that made no progress before waits for time to pass.
            outside = self.host.bodies > 0 and seen != self._stuck
            await asyncio.sleep(0.001 if outside else 0)
            if (now := self._pulse()) != seen:
                seen, quiet, patience = now, 0, loop.time() + _PATIENCE
            elif not outside:
                quiet += 1
            elif loop.time() > patience:
                self._stuck = seen

    def _check_alive(self) -> None:
        if self._store.dead:
            raise Crashed("the engine died; `await t.restart()` starts another on what it had committed")

    def _pulse(self) -> tuple[int, ...]:
        return (*self.host.pulse, self.host.bodies, self._store.commits)

    # -- crashes -----------------------------------------------------------------------------------------

    def crash_before_write(self, number: int) -> None:
        """Have the engine die instead of its ``number``-th commit from now on (1: the next).

        Calls of the client that it leaves without an answer raise RivetError ``client.connection_lost``.
        """
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
        """Everything there is to see of an actor. Raises RivetError ``actor.not_found``, `Crashed`."""
        self._check_alive()
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
