"""What all parts of an awake actor share: who it is, its state, and the one way to write (spec actors 2)."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable

from rivetpy import codec
from rivetpy.actors import ActorDefinition
from rivetpy.clock import Clock
from rivetpy.codec import Value
from rivetpy.errors import RivetError, StoreError
from rivetpy.host.statecell import StateCell, kept, no_state, problems, revision
from rivetpy.store import ActorRow, Batch, Store
from rivetpy.unbroken import finished
from rivetpy.workflow import layout


def join(batch: Batch, later: Batch) -> None:
    """Take a later batch of puts and deletes into one."""
    for key in later.deletes:
        batch.puts.pop(key, None)
    batch.puts |= later.puts


class Core:
    """An actor in memory. Everything it commits goes through `write` and `hand_in`."""

    def __init__(
        self,
        row: ActorRow,
        definition: ActorDefinition,
        stored: dict[bytes, bytes],
        store: Store,
        clock: Clock,
        on_refused: Callable[[StoreError], None],
    ) -> None:
        self.row = row
        self.definition = definition
        self.clock = clock
        self.input: Value = codec.decode(stored[layout.INPUT]) if layout.INPUT in stored else None
        self.cell: StateCell | None = None
        if definition.shape is not None and layout.STATE in stored:
            self.cell = StateCell(definition.shape, stored[layout.STATE])
        #: Grows with everything that happens: an actor is idle when it stands still.
        self.activity = 0
        #: Set when the actor is no longer ours to write.
        self.gone = False
        #: Why, if the store refused a commit.
        self._refused: StoreError | None = None
        #: What user code keeps for this life only.
        self.vars: Value = None
        #: Set when the actor is being put away or destroyed.
        self.abort = asyncio.Event()
        #: Called after a changed state became durable; what it changes goes into the batch, which is committed next.
        self.on_state_change: Callable[[Batch], None] | None = None
        #: What the hook changed last, on its way to be durable.
        self._echo: asyncio.Future[None] | None = None
        #: The hook changed the state in the middle of a step: that is durable with the step's record.
        self._mixed = False
        #: What was handed in last.
        self._last: asyncio.Future[None] | None = None
        #: An actor that is being made: what its first hooks write comes with its row.
        self.newborn: Batch | None = None
        #: Steps were cut off with the state in hand: it is not what anybody may store.
        self.spoiled = False
        self._store = store
        self._on_refused = on_refused
        self._loop = asyncio.get_running_loop()  # steps written as `def` touch the state from a thread
        self._loop_thread = threading.get_ident()
        self._open_steps: set[object] = set()
        self._waiting_for_steps: list[asyncio.Future[None]] = []
        self._in_threads: set[object] = set()

    # -- writing -----------------------------------------------------------------------------------------

    def batch(self) -> Batch:
        """An empty batch for this actor."""
        return Batch(self.row.id)

    async def write(self, batch: Batch) -> None:
        """Commit. Raises `StoreError`, after telling the host: what is in memory is then no longer what is stored."""
        if self.newborn is not None and not self.gone:
            join(self.newborn, batch)
            return
        await finished(self.hand_in(batch))
        if layout.STATE in batch.puts:
            await self._echoed()

    def hand_in(self, batch: Batch) -> asyncio.Future[None]:
        """Begin to commit: the future is done once the batch is durable, and whatever is handed in later is never
        durable without it. The host is told of a refusal even if nobody awaits the future."""
        if self.gone:
            raise self.restarting()
        self.activity += 1
        return self._commit(batch, tell=layout.STATE in batch.puts)

    async def caught_up(self) -> None:
        """Wait until what was handed in by now is durable. Raises `StoreError`."""
        if self._last is not None:
            await finished(self._last)

    def _commit(self, batch: Batch, *, tell: bool) -> asyncio.Future[None]:
        """``tell``: it changes the state, and on_state_change is to hear of that."""
        self._last = written = self._store.commit(batch)
        written.add_done_callback(functools.partial(self._written, tell))
        return written

    def _written(self, tell: bool, written: asyncio.Future[None]) -> None:
        if written.cancelled():
            return
        error = written.exception()
        if isinstance(error, StoreError):
            # At once, whoever hears of it: an actor that is leaving still writes, and on top of what is not stored.
            self.gone, self._refused = True, error
            self._on_refused(error)
        elif error is None and tell and self.on_state_change is not None:
            self._state_changed(self.on_state_change)

    def _state_changed(self, told: Callable[[Batch], None]) -> None:
        """What the hook changes is handed in at once, and not told to it again."""
        change = self.batch()
        told(change)
        if change.puts and not self.gone:
            self._echo = self._commit(change, tell=False)

    async def _echoed(self) -> None:
        """Wait until what the hook changed is durable."""
        if self._mixed:
            await self.steps_settled()
            await self.write_state()  # if the step was given up: nothing of it is recorded
        elif self._echo is not None:
            await finished(self._echo)

    async def be_born(self) -> None:
        """Commit what the actor was made of, all at once. Raises `StoreError`."""
        batch, self.newborn = self.newborn, None
        assert batch is not None
        await finished(self._store.commit(batch))

    async def leave(self, batch: Batch) -> None:
        """The last commit: nothing may slip in behind it, where the next instance would not see it."""
        if self.gone:
            raise self._refused or self.restarting()
        self.gone = True
        await self._store.commit(batch)

    def restarting(self) -> RivetError:
        """The error that tells a client to try again in a moment."""
        return RivetError(
            "actor", "restarting", f"Actor {self.row.name!r} is restarting. Try again in a moment."
        )

    # -- state -------------------------------------------------------------------------------------------

    @property
    def state(self) -> Value:
        """The object user code works on. Raises RivetError ``actor.state_not_enabled``."""
        return self._cell().value

    @state.setter
    def state(self, value: Value) -> None:
        self._cell().value = value

    def _cell(self) -> StateCell:
        if self.cell is None:
            raise no_state(self.row.name)
        return self.cell

    def take_state(self, state: Value) -> None:
        """The first state. Raises `EncodeError`, or RivetError ``actor.state_invalid``."""
        assert self.definition.shape is not None and self.newborn is not None
        data = codec.encode(state)
        self.cell = StateCell(self.definition.shape, data)
        self.newborn.puts[layout.STATE] = data

    @property
    def staged(self) -> bytes | None:
        """The state that is stored or on its way to be; another object whenever one was handed in."""
        return None if self.cell is None else self.cell.data

    def renew_state(self) -> None:
        """Go on with a copy of the state."""
        if self.cell is not None:
            self.cell.renew()

    def stage_state(self, batch: Batch) -> None:
        """Put the state into a batch if it changed. Raises `EncodeError` when it can't be stored."""
        if self.cell is not None and (data := self.cell.change()) is not None:
            batch.puts[layout.STATE] = self.cell.data = data

    def stage_apart(self, batch: Batch, before: bytes | None) -> None:
        """Put the state into a batch if it is another than ``before`` (see `half_done`). Raises `EncodeError`.

        Never a running step's change before its record: where the two can't be told apart, that record brings both.
        """
        if self.cell is None or (data := self.cell.change()) is None or data == before:
            return
        self._mixed = before is not None or self.changing
        if not self._mixed:
            batch.puts[layout.STATE] = self.cell.data = data

    async def replace_state(self, plain: Value, seen: str | None = None) -> None:
        """Take another state, if the one that is there still has the `revision` that was ``seen``.

        Raises `EncodeError`, or RivetError ``actor.invalid_request``, ``actor.state_changed``.
        """
        cell = self._cell()
        before = codec.reread(cell.value)[1]
        if seen is not None and seen != revision(before):
            raise RivetError(
                "actor",
                "state_changed",
                f"The state of {self.row.name!r} was changed by somebody else meanwhile. Look at it again.",
                status=409,
            )
        try:
            cell.replace(kept(before, plain))
        except RivetError as error:
            if error.code != "state_invalid":
                raise
            problem = f"This is no state of {self.row.name!r}: {problems(error.__cause__ or error)}."
            raise RivetError("actor", "invalid_request", problem, status=400) from error
        await self.write_state()

    async def write_state(self, along: Callable[[Batch], None] = lambda batch: None) -> None:
        """Commit the state if it changed, with what is put ``along``."""
        batch = self.batch()
        self.stage_state(batch)
        if batch.puts:
            along(batch)
            await self.write(batch)

    async def settle(self) -> None:
        """Make durable what was changed by now, if the actor is still ours. Raises `StoreError`, `EncodeError`."""
        if not self.gone and self.cell is not None:
            await self.steps_settled()
            await self.write_state()

    # -- steps that have the state in hand ---------------------------------------------------------------

    def step_touched(self, step: object) -> None:
        """A running step reached for the state: until it is settled its changes are half done."""
        self._open_steps.add(step)
        if threading.get_ident() != self._loop_thread:
            self._in_threads.add(step)

    def step_handed_in(self, step: object) -> None:
        """The step's body is over and what it changed is on its way: no thread has the state in hand any more."""
        self._in_threads.discard(step)

    def step_settled(self, step: object) -> None:
        """The step's attempt is recorded or given up."""
        self._in_threads.discard(step)
        self._open_steps.discard(step)
        if self._open_steps:
            return
        self._mixed = False
        waiting, self._waiting_for_steps = self._waiting_for_steps, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def settle_all(self) -> None:
        """No step runs any more; one that had the state in hand may have left it half changed."""
        self.spoiled = self.spoiled or bool(self._open_steps)
        for step in list(self._open_steps):
            self.step_settled(step)

    @property
    def changing(self) -> bool:
        """Whether a step in a thread has the state in hand: it may change at any moment, not only at awaits."""
        return bool(self._in_threads)

    def half_done(self) -> bytes | None:
        """The state as a step that is still running left it, if it changed it."""
        return self.cell.change() if self._open_steps and self.cell is not None else None

    async def steps_settled(self) -> None:
        """Wait until no running step has the state in hand."""
        while self._open_steps:
            settled = self._loop.create_future()
            self._waiting_for_steps.append(settled)
            await settled
