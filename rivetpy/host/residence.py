"""Who is awake: one instance per actor, made on demand, put away when idle, woken by its alarm."""

from __future__ import annotations

import abc
import asyncio
import contextlib
import dataclasses
import weakref
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path

from rivetpy import codec
from rivetpy.actors import ActorDefinition
from rivetpy.clock import Clock, SystemClock
from rivetpy.codec import Value
from rivetpy.errors import RivetError, StoreError, actor_not_found
from rivetpy.host import lifecycle
from rivetpy.host.conns import Conns
from rivetpy.host.events import Watcher
from rivetpy.host.files import Files
from rivetpy.host.idle import Idle
from rivetpy.host.instance import CUT_OFF, Instance, Rows
from rivetpy.host.locks import Locks
from rivetpy.host.namespaces import Namespaces
from rivetpy.host.parts import Outside
from rivetpy.host.record import WorkflowRecord
from rivetpy.host.tasks import Tasks
from rivetpy.host.waking import RETRY_PAUSE, Waker
from rivetpy.host.watching import Change, Watched
from rivetpy.identity import Key, new_id, new_token
from rivetpy.registry import Registry
from rivetpy.store import ActorRow, Batch, Store
from rivetpy.workflow import layout

Identity = tuple[str, str, Key]

#: What was begun may be finished before a stop, but user code that hangs is not waited for longer (seconds).
WINDING_UP = 10.0
CONNECTIONS = frozenset({Change.CONNECTIONS})
#: What is dropped gets no longer than this to notice (seconds).
CUT_OFF_SECONDS = 1.0


class Residence(abc.ABC):
    """The actors of a registry over a store, in memory as long as something happens to them.

    ``files`` is where the actors' own databases are; without it they last as long as this.
    ``always_replay`` runs every workflow again from the top after each wait: slower, and with the same result.
    """

    @property
    @abc.abstractmethod
    def outside(self) -> Outside:
        """What the actors may ask for."""

    # -- life --------------------------------------------------------------------------------------------

    def __init__(
        self,
        registry: Registry,
        store: Store,
        clock: Clock | None = None,
        *,
        always_replay: bool = False,
        on_event: Watcher | None = None,
        files: Path | None = None,
    ) -> None:
        self.registry = registry
        self._store = Watched(store)
        self._clock = clock or SystemClock()
        self._always_replay = always_replay
        self._watch = on_event or (lambda event: None)
        self._awake: dict[str, Instance] = {}
        self._by_identity: dict[Identity, str] = {}
        self._lock = Locks()
        self._crashed: set[str] = set()
        self._tasks = Tasks()
        self._waker = Waker(self._store, self._clock, self._wake, self._put_off, self._watch, self._tasks)
        self._stopping = False
        self._idle = Idle(self._clock, self._is_leaving, self._fall_asleep)
        self._files = Files(files)
        self._conns: weakref.WeakValueDictionary[str, Conns] = weakref.WeakValueDictionary()
        #: What opens the inspectors of actors that were looked into.
        self._tokens: dict[str, str] = {}
        self.namespaces = Namespaces(self._store, self._clock)

    async def start(self) -> None:
        """Let every actor go on that has something to do: the ones an unclean end left behind, then due alarms."""
        await self.namespaces.load()
        crashed = await self._store.awake()
        self._crashed.update(crashed)
        self._waker.start(crashed)
        self._tasks.start(self._quietly(self._files.sweep(self._files.left_behind(), self._store.get)))

    async def stop(self, grace: float | None = None) -> None:
        """Put everybody away, within ``grace`` seconds (default: each actor's own). New work is refused."""
        self._stopping = True
        await self._waker.stop()
        await self._tasks.idle(WINDING_UP if grace is None else grace)
        await asyncio.gather(
            *(self._put_away(actor_id, grace) for actor_id in list(self._awake)), return_exceptions=True
        )
        for conns in list(self._conns.values()):  # of actors that sleep
            for conn in conns:
                conn.close(CUT_OFF)
        # What was asked for meanwhile: an actor may destroy itself in on_sleep.
        await self._tasks.idle(WINDING_UP if grace is None else grace)
        self._files.close()

    async def drop(self) -> None:
        """Let go of everything without a word or a write, as ``kill -9`` does; for tests."""
        self._stopping = True
        gone = StoreError("dropped", "The engine was dropped.")
        await self._waker.stop()
        self._tasks.cancel()
        for instance in list(self._awake.values()):
            self._forget(instance)
            instance.abandon(gone)
        await self._tasks.wait(CUT_OFF_SECONDS)

    @property
    def pulse(self) -> tuple[int, int]:
        """Another value whenever something happened to an actor."""
        return len(self._awake), sum(instance.core.activity for instance in self._awake.values())

    @property
    def bodies(self) -> int:
        """How many steps, scheduled actions and other things that keep an actor awake are running."""
        return sum(instance.bodies for instance in self._awake.values())

    @property
    def acting(self) -> frozenset[object]:
        """The actions and steps that run, one thing for each: what is in two answers has not ended between them."""
        return frozenset(call for instance in self._awake.values() for call in instance.acting)

    @property
    def awake(self) -> int:
        """How many actors are in memory."""
        return len(self._awake)

    def is_awake(self, actor_id: str) -> bool:
        """Whether the actor is in memory."""
        return actor_id in self._awake

    # -- making ------------------------------------------------------------------------------------------

    async def get(self, actor_id: str) -> ActorRow | None:
        """The actor with this id, destroyed or not."""
        instance = self._awake.get(actor_id)
        if instance is not None:
            return instance.core.row
        row = await self._store.get(actor_id)
        return row if row is not None and row.namespace else None  # else it is a namespace

    async def _live_row(self, actor_id: str) -> ActorRow:
        row = await self.get(actor_id)
        if row is None or row.destroyed_at is not None:
            raise actor_not_found(actor_id)
        return row

    async def _find_or_create(self, identity: Identity, input: Value) -> tuple[ActorRow, bool]:
        async with self._lock(identity):
            existing = await self._store.find(*identity)
            if existing is not None:
                return existing, False
            return (await self._create(identity, input)).core.row, True

    async def _create(self, identity: Identity, input: Value) -> Instance:
        self._refuse_when_stopping()
        namespace, name, key = identity
        definition = self.registry.get(name)
        row = ActorRow(new_id(), namespace, name, key, self._clock.now())
        rows = {layout.TOKEN: new_token().encode()}
        if input is not None:
            rows[layout.INPUT] = codec.encode(input)
        if definition.has_workflow:
            rows[layout.WORKFLOW] = WorkflowRecord().pack()
        async with self._lock(row.id):  # found by others before it is awake
            instance = self._instance(row, definition, sorted(rows.items()))
            instance.core.newborn = Batch(row.id, puts=rows, row=row)
            try:
                await lifecycle.create(instance.parts)
                await instance.core.be_born()
            except BaseException:
                await instance.parts.db.close()
                instance.give_up()
                self._files.forget(row.id)
                raise
            return await self._start(instance, crashed=False, created=True)

    # -- waking ------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _busy(self, actor_id: str) -> AsyncIterator[Instance]:
        """The actor, awake and kept awake meanwhile."""
        instance = self._awake.get(actor_id) or await self._wake(actor_id)
        instance.busy += 1
        instance.core.activity += 1
        try:
            yield instance
        finally:
            instance.busy -= 1
            self._idle.rests(instance)

    async def _wake(self, actor_id: str) -> Instance:
        return await self._tasks.finish(self._find_or_wake(actor_id))

    async def _find_or_wake(self, actor_id: str) -> Instance:
        async with self._lock(actor_id):  # also waits for a putting away that is on its way
            if (instance := self._awake.get(actor_id)) is not None:
                return instance
            self._refuse_when_stopping()
            row = await self._live_row(actor_id)
            definition = self.registry.get(row.name)
            rows = await self._store.load(actor_id)
            token_too = any(key == layout.TOKEN for key, _ in rows)
            if not row.awake or not token_too:
                row = dataclasses.replace(row, awake=True, alarm=None)
                token = {} if token_too else {layout.TOKEN: new_token().encode()}  # older actors have none
                await self._store.commit(Batch(actor_id, puts=token, row=row))
            crashed = actor_id in self._crashed
            self._crashed.discard(actor_id)
            return await self._start(self._instance(row, definition, rows), crashed=crashed, created=False)

    def _instance(self, row: ActorRow, definition: ActorDefinition, rows: Rows) -> Instance:
        conns = self._conns.get(row.id)
        if conns is None:
            conns = self._conns[row.id] = Conns(definition)
            conns.on_change = lambda: self._store.tell(row.id, CONNECTIONS)
        db = self._files.database(row, definition)
        return Instance(
            row,
            definition,
            rows,
            self._store,
            self._clock,
            self._watch,
            self._broken,
            conns,
            db,
            self.outside,
        )

    async def _start(self, instance: Instance, *, crashed: bool, created: bool) -> Instance:
        row = instance.core.row
        try:
            await lifecycle.wake(instance.parts, created=created)
        except BaseException:
            instance.give_up()
            alarm = self._clock.now() + RETRY_PAUSE if instance.runs_by_itself else None
            await self._store.commit(Batch(row.id, row=dataclasses.replace(row, awake=False, alarm=alarm)))
            self._waker.changed.set()
            raise
        self._awake[row.id] = instance
        self._by_identity[row.namespace, row.name, row.key] = row.id
        instance.on_rest = lambda: self._idle.rests(instance)
        instance.start(crashed=crashed, always_replay=self._always_replay)
        self._idle.rests(instance)
        return instance

    # -- putting away ------------------------------------------------------------------------------------

    def _forget(self, instance: Instance) -> None:
        row = instance.core.row
        if self._awake.get(row.id) is instance:
            del self._awake[row.id]
            self._by_identity.pop((row.namespace, row.name, row.key), None)
            self._idle.forget(row.id)

    def _is_leaving(self, instance: Instance) -> bool:
        return self._stopping or self._awake.get(instance.actor_id) is not instance

    def _fall_asleep(self, instance: Instance) -> None:
        self._tasks.start(self._put_away_quietly(instance.actor_id))

    async def _put_away_quietly(self, actor_id: str) -> None:
        with contextlib.suppress(StoreError):  # the instance was given up, and will be woken again
            await self._put_away(actor_id, None, only_idle=True)

    async def _put_away(self, actor_id: str, grace: float | None, *, only_idle: bool = False) -> None:
        async with self._lock(actor_id):
            instance = self._awake.get(actor_id)
            if instance is None or (only_idle and not instance.resting):
                return
            await self._let_leave(instance, grace)

    async def _let_leave(self, instance: Instance, grace: float | None) -> None:
        """Put an instance away whose lock is held."""
        self._forget(instance)  # whoever comes now waits for the lock, then wakes it anew
        with self._waker.coming_back(instance.core.row):
            await instance.put_away(
                instance.core.definition.options.sleep_grace_period if grace is None else grace,
                for_good=self._stopping,
            )
        self._waker.changed.set()

    def _broken(self, instance: Instance, error: StoreError) -> None:
        """The store refused a commit: what is in memory is wrong. Start over from what is stored, after a pause."""
        if self._awake.get(instance.actor_id) is not instance:
            return
        self._forget(instance)
        instance.abandon(error)
        self._waker.come_back(instance.core.row, error)

    async def _put_off(self, actor_id: str, error: Exception) -> None:
        """An actor can't be woken: have it tried again later. Raises `StoreError`."""
        async with self._lock(actor_id):
            row = await self._store.get(actor_id)
            if self._stopping or actor_id in self._awake or row is None or row.destroyed_at is not None:
                return
            self._waker.tell(row, "can't be woken", error)
            later = dataclasses.replace(row, awake=False, alarm=self._clock.now() + RETRY_PAUSE)
            await self._store.commit(Batch(actor_id, row=later))

    # -- ending ------------------------------------------------------------------------------------------

    async def _destroy(self, actor_id: str) -> None:
        async with self._lock(actor_id):
            row = await self._live_row(actor_id)
            instance = self._awake.get(actor_id) or await self._for_last_words(row)
            if instance is not None:
                self._forget(instance)  # whoever comes now waits for the lock, then finds nobody
                await instance.end(instance.core.definition.options.sleep_grace_period)
            gone = dataclasses.replace(row, awake=False, alarm=None, destroyed_at=self._clock.now())
            with self._waker.coming_back(row):
                await self._store.commit(Batch(actor_id, clear=True, row=gone))
            self._files.forget(actor_id)
            self._tokens.pop(actor_id, None)

    async def _for_last_words(self, row: ActorRow) -> Instance | None:
        """A sleeping actor whose on_destroy is to be called."""
        definition = self.registry.actors.get(row.name)
        if self._stopping or definition is None or "on_destroy" not in definition.hooks:
            return None
        instance = self._instance(row, definition, await self._store.load(row.id))
        try:
            await lifecycle.wake(instance.parts, created=False)
        except Exception as error:  # it shall go all the same
            instance.parts.failed("waking to be destroyed", error)
        return instance

    def destroy_soon(self, actor_id: str) -> None:
        """Destroy an actor on its own wish, once its calls are answered."""
        self._tasks.start(self._quietly(self._destroy(actor_id)))

    def sleep_soon(self, actor_id: str) -> None:
        """Put an actor away on its own wish, once its calls are answered."""
        self._tasks.start(self._quietly(self._put_away(actor_id, None)))

    async def _quietly(self, work: Coroutine[object, object, None]) -> None:
        with contextlib.suppress(RivetError):  # it is gone already, or was given up and will be woken again
            await work

    def _refuse_when_stopping(self) -> None:
        if self._stopping:
            raise RivetError("actor", "restarting", "The engine is stopping. Try again in a moment.")
