"""One scope of a running workflow: which names were used, and whether the code still fits the journal."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from rivetpy.workflow import location as locations
from rivetpy.workflow.entries import INITIAL, Entry, Kind
from rivetpy.workflow.errors import Evicted, HistoryDivergedError, WorkflowUsageError

if TYPE_CHECKING:
    from rivetpy.workflow.run import Run

P = ParamSpec("P")
T = TypeVar("T")
E = TypeVar("E", bound=Entry)

_PACKAGE = str(Path(__file__).parent)


def call_site() -> str:
    """file:line of the nearest caller outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_PACKAGE, "<")):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


class Scope:
    """A part of the workflow in which every name is used once; its verbs come one after another."""

    def __init__(self, run: Run, location: str, parent: Scope | None = None) -> None:
        self.run = run
        self.location = location
        self.parent = parent
        self._entries = run.journal.scope(location)
        #: Recorded names this pass has not come to yet.
        self.unvisited = set(self._entries)
        self._used: dict[str, str] = {}
        self._task = asyncio.current_task()
        self._busy: str | None = None
        self._closed = False

    # -- the five beats: look up -------------------------------------------------------------------------

    def visit(self, kind: type[E], name: str) -> E:
        """The entry of this name: the recorded one, or a fresh one that is not in the journal yet.

        Raises `HistoryDivergedError` where the journal has another kind, where the name was used before, or
        where something fresh is asked for while recorded entries wait to be visited: in unchanged code
        everything before a recorded entry is recorded too.
        """
        part = locations.segment(name)
        location = locations.child(self.location, part)
        site = call_site()
        if part in self._used:
            raise self._diverged(
                location, f"{_described(kind.kind, name)} again", f"it, used at {self._used[part]}", site
            )
        self._used[part] = site
        self.unvisited.discard(part)
        entry = self._entries.get(part)
        if entry is None:
            if self.unvisited:
                found = self._describe_unvisited()
                raise self._diverged(location, f"a new {_described(kind.kind, name)}", found, site)
            return self._fresh(kind, location)
        if not isinstance(entry, kind):
            found = f"{_described(entry.kind, name)}"
            raise self._diverged(location, _described(kind.kind, name), found, site)
        return entry

    def _fresh(self, kind: type[E], location: str) -> E:
        run = self.run
        return kind(location, run.journal.next_seq(), INITIAL[kind.kind], run.port.clock.now())

    def _describe_unvisited(self) -> str:
        part = min(self.unvisited, key=lambda part: self._entries[part].seq)
        return f"{_described(self._entries[part].kind, locations.name_of(part))} next"

    def _diverged(self, location: str, expected: str, found: str, site: str) -> HistoryDivergedError:
        return self.run.diverge(HistoryDivergedError(location, expected, found, site))

    # -- order -------------------------------------------------------------------------------------------

    def begin(self, name: str) -> None:
        """A verb starts. Raises where verbs may not be used, or where the workflow is being put away."""
        if self.run.leaving:
            raise Evicted
        if self._closed:
            raise WorkflowUsageError(
                f"{name!r} uses the context of a scope that is over; use the context passed to the function it is in."
            )
        if self._busy is not None:
            raise WorkflowUsageError(
                f"{name!r} was started while {self._busy!r} of the same scope is not finished. Inside a loop "
                "use the loop's own context; inside a step no verb can be used."
            )
        if asyncio.current_task() is not self._task:
            raise WorkflowUsageError(
                f"{name!r} was started in another task (asyncio.gather, create_task, wait_for, TaskGroup). "
                "Verbs of a workflow run one after another: await each where the workflow function runs."
            )
        self._busy = name

    def end(self) -> None:
        """The verb is over."""
        self._busy = None

    @property
    def replaying(self) -> bool:
        """Whether recorded entries are still to come here or further out."""
        return bool(self.unvisited) or (self.parent is not None and self.parent.replaying)

    def close(self) -> None:
        """The scope is over: everything recorded in it must have been visited."""
        self._closed = True
        if self.unvisited:
            part = min(self.unvisited, key=lambda part: self._entries[part].seq)
            raise self._diverged(
                locations.child(self.location, part),
                f"the end of {self.location or 'the workflow'}",
                self._describe_unvisited(),
                call_site(),
            )


def _described(kind: Kind, name: str) -> str:
    return f"{kind} {name!r}"


def verb(
    function: Callable[Concatenate[Scope, str, P], Awaitable[T]],
) -> Callable[Concatenate[Scope, str, P], Awaitable[T]]:
    """Make a function a verb: one at a time in its scope, refused where it may not be used."""

    @functools.wraps(function)
    async def guarded(scope: Scope, name: str, /, *args: P.args, **kwargs: P.kwargs) -> T:
        scope.begin(name)
        try:
            return await function(scope, name, *args, **kwargs)
        finally:
            scope.end()

    return guarded
