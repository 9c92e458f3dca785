"""What join and race share: branches as tasks, each with its own scope, none left behind (spec workflows 8)."""

from __future__ import annotations

import asyncio
import inspect
import reprlib
from collections.abc import Callable, Mapping

from rivetpy import codec
from rivetpy.codec import Value
from rivetpy.workflow import location as locations
from rivetpy.workflow.entries import Branch, JoinEntry, RaceEntry, Status
from rivetpy.workflow.errors import Evicted, Signal, Stopped
from rivetpy.workflow.failure import failure_of
from rivetpy.workflow.scope import Scope, is_cancelled

#: A branch, waiting for its scope.
BranchFunction = Callable[[Scope], Value]
#: A cancelled branch that goes on all the same is cancelled again after this many seconds.
_AGAIN = 1.0


class Branches:
    """The unfinished branches of one entry, running."""

    def __init__(
        self, scope: Scope, entry: JoinEntry | RaceEntry, functions: Mapping[str, BranchFunction]
    ) -> None:
        self._scope = scope
        self._entry = entry
        self._frontiers = {name: scope.frontier.branch() for name in functions}
        loop = asyncio.get_running_loop()
        self._tasks: dict[asyncio.Task[bytes], str] = {
            loop.create_task(self._run(name, function), name=f"branch {entry.location}/{name}"): name
            for name, function in functions.items()
        }
        if self._tasks:
            scope.run.branches_begin(len(self._tasks))

    async def _run(self, name: str, function: BranchFunction) -> bytes:
        """One branch; its encoded result."""
        inner = self._scope.inner(branch_scope(self._entry, name), self._frontiers[name])
        result = function(inner)
        value = await result if inspect.isawaitable(result) else result
        if isinstance(self._entry, RaceEntry):  # losing shows outside
            await inner.settle()
        inner.finish()
        return codec.encode(value)

    async def ended(self) -> list[str]:
        """Wait for the next branches to end and note how; their names in the order they were given.

        [] when none is left. Raises the signal a branch ended with; whoever calls must then `end` the rest.
        """
        if not self._tasks:
            return []
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        return [self._note(task) for task in list(self._tasks) if task in done]

    def _note(self, task: asyncio.Task[bytes]) -> str:
        name = self._tasks.pop(task)
        branch = self._entry.branches[name]
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        decided = False
        if error is None:
            branch.status, branch.output = Status.COMPLETED, task.result()
            decided = isinstance(self._entry, RaceEntry)
        elif isinstance(error, Stopped):  # a dry pass: the other branches go on to where they had got
            pass
        elif self._scope.run.leaving or _is_signal(error):
            raise error if isinstance(error, Signal) else Evicted
        else:
            branch.status, branch.failure = Status.FAILED, failure_of(error)
        self._scope.run.branch_ended(last=not self._tasks, decided=decided)
        return name

    async def end(self) -> None:
        """Wait until nothing is left of the branches that still run, whoever cancels this meanwhile.

        They are cancelled, and their ``finally`` runs; when the run is put away in peace they leave by themselves.
        """
        in_peace = self._scope.run.in_peace and not self._scope.frontier.cancelled and not is_cancelled()
        interrupted = False
        while self._tasks:
            if not in_peace:
                self._cancel()
            try:
                done, _ = await asyncio.wait(self._tasks, timeout=None if in_peace else _AGAIN)
            except asyncio.CancelledError:
                in_peace, interrupted = False, True
                continue
            for task in done:
                self._gone(task)
        if interrupted:
            raise asyncio.CancelledError

    def _cancel(self) -> None:
        for task, name in self._tasks.items():
            self._frontiers[name].cancel()
            task.cancel()

    def _gone(self, task: asyncio.Task[bytes]) -> None:
        name = self._tasks.pop(task)
        if not task.cancelled():
            task.exception()  # whatever a cancelled branch raises while it cleans up, it lost
        self._entry.branches[name].status = Status.CANCELLED
        self._scope.run.branch_ended(last=not self._tasks, decided=True)


def branch_scope(entry: JoinEntry | RaceEntry, name: str) -> str:
    """The scope of a branch."""
    return locations.child(entry.location, locations.segment(name))


def check_branches(verb: str, name: str, functions: object) -> None:
    """Raise TypeError or ValueError for branches that could not be told apart."""
    if not isinstance(functions, Mapping) or not functions:
        raise TypeError(
            f"{verb} {name!r}: branches are a dict of functions by name, "
            f"`{{'first': fn, 'second': fn}}`, not {reprlib.repr(functions)}"
        )
    for branch, function in functions.items():
        locations.segment(branch)
        if not callable(function):
            raise TypeError(f"{verb} {name!r}: branch {branch!r} is not a function: {function!r}")


def check_same(scope: Scope, entry: JoinEntry | RaceEntry, functions: Mapping[str, object]) -> None:
    """Raise `HistoryDivergedError` when an unfinished entry was begun with other branches."""
    if set(entry.branches) != set(functions):
        raise scope.diverged_at(
            entry,
            f"branches {sorted(functions)}",
            f"branches {sorted(entry.branches)} in {entry.kind} {entry.name!r}",
        )


def begin(scope: Scope, entry: JoinEntry | RaceEntry, functions: Mapping[str, object]) -> None:
    """Write a fresh entry; it travels with the first thing a branch commits."""
    if scope.run.journal.has(entry):
        check_same(scope, entry, functions)
    else:
        entry.branches = {name: Branch() for name in functions}
        scope.run.journal.write(entry)


def _is_signal(error: BaseException) -> bool:
    """Whether the engine's own control flow is in it, or something nobody here may hold up."""
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(Signal) is not None
    return isinstance(error, Signal | KeyboardInterrupt | GeneratorExit)
