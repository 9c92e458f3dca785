"""One scope of a running workflow: which names were used, and whether the code still fits the journal."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from rivetpy.workflow import events
from rivetpy.workflow import location as locations
from rivetpy.workflow.entries import FRAMES, INITIAL, Entry, Kind
from rivetpy.workflow.errors import (
    Evicted,
    HistoryDivergedError,
    Recorded,
    Signal,
    Stopped,
    UsedTwiceError,
    WorkflowUsageError,
)
from rivetpy.workflow.port import ActorData
from rivetpy.workflow.waits import Wait

if TYPE_CHECKING:
    from rivetpy.workflow.run import Run

P = ParamSpec("P")
T = TypeVar("T")
E = TypeVar("E", bound=Entry)

#: So many recorded entries on each side of a divergence are told.
AROUND = 3
_KERNEL = str(Path(__file__).parent)
_PACKAGE = str(Path(__file__).parent.parent)
_ASYNCIO = str(Path(asyncio.__file__).parent)


def call_site() -> str | None:
    """file:line of the nearest caller that is user code; None where only the engine is on the stack."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not filename.startswith((_KERNEL, _ASYNCIO, "<")):
            return None if filename.startswith(_PACKAGE) else f"{filename}:{frame.f_lineno}"
        frame = frame.f_back
    return None


class Frontier:
    """Where one flow of the workflow (the function itself, or a branch) is in its journal."""

    def __init__(self, crashed: bool, parent: Frontier | None = None) -> None:
        #: True until this flow's journal goes on: the body it comes to next may be what killed the engine.
        self.crashed = crashed
        #: The record of the last step of this flow, on its way to be durable.
        self.owed: asyncio.Future[None] | None = None
        #: Completable messages this flow received and did not complete yet: the wait of each, by id.
        self.open_messages: dict[int, str] = {}
        self._parent = parent
        self._cancelled = False

    def cancel(self) -> None:
        """The flow lost a race: its verbs refuse from now on."""
        self._cancelled = True

    @property
    def cancelled(self) -> bool:
        """Whether this flow, or one it is part of, lost a race."""
        return self._cancelled or (self._parent is not None and self._parent.cancelled)

    def branch(self) -> Frontier:
        """The frontier of a branch that begins here."""
        branch = Frontier(self.crashed, self)
        branch.owed = self.owed
        return branch


class Scope:
    """A part of the workflow in which every name is used once; its verbs come one after another."""

    def __init__(self, run: Run, location: str, frontier: Frontier, parent: Scope | None = None) -> None:
        self.run = run
        self.location = location
        self.frontier = frontier
        self.parent = parent
        self._entries = run.journal.scope(location)
        #: Recorded names this pass has not come to yet.
        self.unvisited = set(self._entries)
        self._used: dict[str, str] = {}
        self._task = asyncio.current_task()
        self._busy: str | None = None
        self._closed = False
        self._armed = False
        #: A verb of this scope raised a signal of the engine, which nobody may keep from passing.
        self._signalled = False

    def inner(self, location: str, frontier: Frontier | None = None) -> Scope:
        """A scope within this one; with a frontier of its own when it is a branch."""
        return Scope(self.run, location, frontier or self.frontier, self)

    # -- the five beats: look up -------------------------------------------------------------------------

    def visit(self, kind: type[E], name: str) -> E:
        """The entry of this name: the recorded one, or a fresh one that is not in the journal yet.

        Raises `HistoryDivergedError` where the journal has another kind, where the name was used before, or
        where something fresh or unfinished is asked for while recorded entries wait to be visited, here or further
        out: in unchanged code everything before a recorded entry is recorded too, and the one that is not finished
        is the last, unless it was left by an error that user code caught.
        """
        location, site = self._use(kind.kind, name)
        entry = self.recorded(name)
        asked = _described(kind.kind, name)
        if entry is None:
            if (passed_over := self._next_recorded()) is not None:
                raise self._diverged(location, f"a new {asked}", _next(passed_over), site)
            return self.fresh(kind, name)
        if not isinstance(entry, kind):
            raise self._diverged(location, asked, f"{_described(entry.kind, name)} there", site)
        passed_over = None if entry.finished else self._next_recorded()
        if passed_over is not None and not _left_before(entry, passed_over):
            raise self._diverged(location, asked, _next(passed_over), site)
        if self.run.dry and not entry.finished and entry.kind not in FRAMES:
            raise Stopped
        return entry

    def recorded(self, name: str) -> Entry | None:
        """The recorded entry of a name, whatever its kind."""
        return self._entries.get(locations.segment(name))

    def fresh(self, kind: type[E], name: str) -> E:
        """A new entry, not in the journal before it is written. Nothing new begins in a dry pass."""
        if self.run.dry:
            raise Stopped
        run = self.run
        location = locations.child(self.location, locations.segment(name))
        return kind(location, run.journal.next_seq(), INITIAL[kind.kind], run.port.clock.now())

    def pass_by(self, kind: Kind, name: str) -> Entry | None:
        """Use a name whose entry need not be there: what stands for code that was not always there.

        Raises `HistoryDivergedError` where the journal has another kind or the name was used before.
        """
        location, site = self._use(kind, name)
        entry = self.recorded(name)
        if entry is not None and entry.kind is not kind:
            raise self._diverged(
                location, _described(kind, name), f"{_described(entry.kind, name)} there", site
            )
        return entry

    def _use(self, kind: Kind, name: str) -> tuple[str, str]:
        """Mark a name as used; its location, and where it was called."""
        part = locations.segment(name)
        location = locations.child(self.location, part)
        site = self._site()
        if part in self._used:
            raise self.run.diverge(UsedTwiceError(location, kind, self._used[part], site))
        self._used[part] = site
        self.unvisited.discard(part)
        return location, site

    def diverged_at(self, entry: Entry, expected: str, found: str) -> HistoryDivergedError:
        """The error of an entry whose parts do not fit."""
        return self._diverged(entry.location, expected, found, self._site())

    # -- the five beats: wait, record --------------------------------------------------------------------

    async def wait(self, wait: Wait) -> None:
        """Suspend until what is waited for may have come. Returns at once when it has."""
        if self.run.ready(wait):
            return
        await self.settle()
        await self.run.flush()
        self.frontier.crashed = False
        await self.run.suspend(wait)

    async def record(self, entry: Entry, data: ActorData | None = None) -> None:
        """Commit the entry with everything put off before it, and the changes made through ``data``."""
        self.run.journal.write(entry)
        written = self.run.hand_in(data)
        await self.settle()  # both are one group of the store, or the other is durable already
        await self.run.durable(written)
        self.frontier.crashed = False

    def owe(self, entry: Entry, data: ActorData) -> None:
        """Hand in the record of a step and go on: the flow begins nothing that shows outside before `settle`, and a
        verb that only records something of its own shares its commit. Raises `EncodeError`, then nothing is owed."""
        self.run.journal.write(entry)
        self.frontier.owed = self.run.hand_in(data)
        self.frontier.crashed = False

    async def settle(self) -> None:
        """Wait until what this flow did is durable. Raises `Evicted` when the store refuses."""
        if (owed := self.frontier.owed) is not None:
            self.frontier.owed = None
            await self.run.durable(owed)

    def _site(self) -> str:
        """Where the user's code is now; at the end of the workflow: where its function begins."""
        return call_site() or self.run.function_site

    def _diverged(self, location: str, expected: str, found: str, site: str) -> HistoryDivergedError:
        error = HistoryDivergedError(location, expected, found, site, self._around(location))
        return self.run.diverge(error)

    def _around(self, location: str) -> list[Recorded]:
        """The recorded entries before and after the first that was passed over, else the one at the location."""
        entries = sorted(self._entries.values(), key=lambda entry: entry.seq)
        there = next((entry for entry in entries if entry.location == location), None)
        passed_over = there is None or not there.finished
        here = (self._next_unvisited() if passed_over else None) or there
        place = entries.index(here) if here is not None else len(entries)
        return [
            Recorded(entry.location, entry.kind, entry is here)
            for entry in entries[max(0, place - AROUND) : place + AROUND + 1]
        ]

    def _next_unvisited(self) -> Entry | None:
        if not self.unvisited:  # a set that was large stays slow to look through when it is empty
            return None
        entries = (self._entries[part] for part in self.unvisited)
        return min(entries, key=lambda entry: entry.seq)

    def _next_recorded(self) -> Entry | None:
        """The first recorded entry that is still to come, here or else further out."""
        entry = self._next_unvisited()
        return entry if entry is not None or self.parent is None else self.parent._next_recorded()

    # -- order -------------------------------------------------------------------------------------------

    def forget(self, verb: str, site: str) -> None:
        """A verb was called here and can't be awaited any more: the workflow may not go on as if it had been."""
        if not self.leaving:
            self.run.misused(
                f"{verb}(…) was called without `await`, so nothing was done ({site}). Write: await {verb}(…)"
            )

    def begin(self, name: str) -> None:
        """A verb starts. Raises where verbs may not be used, or where the workflow is being put away."""
        if self.leaving:
            raise Evicted
        self._check_use(name)
        self._busy = name

    def _check_use(self, name: str) -> None:
        self.run.check_misuse()
        if self._closed:
            raise WorkflowUsageError(
                f"{name!r} uses the context of a scope that is over; use the context passed to the function it is in."
            )
        if self._busy is not None:
            raise WorkflowUsageError(
                f"{name!r} was started while {self._busy!r} of the same scope is not finished. Inside a loop, branch "
                "or block use the context it is handed; inside a step no verb can be used. To run several at once "
                "use ctx.join (not asyncio.gather)."
            )
        if asyncio.current_task() is not self._task:
            raise self.run.misused(
                f"{name!r} was started in another task (asyncio.gather, create_task, wait_for, TaskGroup). Verbs of a "
                "workflow run one after another; to run some at once use ctx.join, for the first of some ctx.race."
            )

    def arm(self) -> None:
        """Steps may be rolled back from here on, in this scope and those within: the ones a replay goes through too."""
        self._armed = True

    @property
    def armed(self) -> bool:
        """Whether a step here may have a rollback handler."""
        return self._armed or (self.parent is not None and self.parent.armed)

    def end(self, name: str, error: BaseException | None) -> None:
        """The verb is over, or ended by this."""
        self._busy = None
        if isinstance(error, Signal):
            self._signalled = True
        elif isinstance(error, asyncio.CancelledError) and not self.leaving and is_cancelled():
            self.run.misused(
                f"{name!r} was cancelled from outside (asyncio.timeout, wait_for, Task.cancel). When that happens is "
                "not recorded, so it could not be replayed. Use ctx.race with ctx.sleep, or the verb's own timeout."
            )

    @property
    def leaving(self) -> bool:
        """Whether the function must end here: the run is put away, or this flow of it lost a race."""
        return self.run.leaving or self.frontier.cancelled

    @property
    def replaying(self) -> bool:
        """Whether recorded entries are still to come here or further out."""
        return bool(self.unvisited) or (self.parent is not None and self.parent.replaying)

    def finish(self) -> None:
        """The function of a scope within the workflow returned. What it returns counts only when it may end here.

        Raises `Evicted` where it had to leave and went on, `HistoryDivergedError` where it left something out.
        """
        if self.leaving:
            if self._signalled and self.run.diverged is None and not self.frontier.cancelled:
                self.run.port.report(events.signal_swallowed(f"returned from {self.location}"))
            raise Evicted
        self.close()

    def close(self) -> None:
        """The scope is over: everything recorded in it must have been visited."""
        self._closed = True
        entry = self._next_unvisited()
        if entry is not None and not self.run.rolling_back:
            raise self._diverged(
                entry.location,
                f"the end of {self.location or 'the workflow'}",
                _next(entry),
                self._site(),
            )


def is_cancelled() -> bool:
    """Whether somebody cancelled this task; a CancelledError may also come from what user code awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _described(kind: Kind, name: str) -> str:
    return f"{kind} {name!r}"


def _next(entry: Entry) -> str:
    return f"{_described(entry.kind, entry.name)} next"


def _left_before(entry: Entry, later: Entry) -> bool:
    """Whether an entry may be unfinished for good: an error went through it that user code caught, and went on."""
    return entry.kind in (Kind.LOOP, Kind.BLOCK) and entry.seq < later.seq


def verb(
    function: Callable[Concatenate[Scope, str, P], Awaitable[T]],
) -> Callable[Concatenate[Scope, str, P], Awaitable[T]]:
    """Make a function a verb: one at a time in its scope, refused where it may not be used."""

    @functools.wraps(function)
    async def guarded(scope: Scope, name: str, /, *args: P.args, **kwargs: P.kwargs) -> T:
        scope.begin(name)
        try:
            result = await function(scope, name, *args, **kwargs)
        except BaseException as error:
            scope.end(name, error)
            raise
        scope.end(name, None)
        return result

    return guarded
