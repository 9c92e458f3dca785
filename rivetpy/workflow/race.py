"""race: run branches at once; the first to complete wins, the others are really cancelled (spec workflows 8)."""

from __future__ import annotations

from collections.abc import Mapping

from rivetpy import codec
from rivetpy.codec import Value
from rivetpy.workflow import location as locations
from rivetpy.workflow.branches import Branches, BranchFunction, begin, branch_scope, check_branches
from rivetpy.workflow.entries import Entry, JoinEntry, Kind, MessageEntry, RaceEntry, Status
from rivetpy.workflow.errors import RaceError, Stopped
from rivetpy.workflow.journal import Journal
from rivetpy.workflow.scope import Scope, verb


@verb
async def race(scope: Scope, name: str, functions: Mapping[str, BranchFunction]) -> tuple[str, Value]:
    """Look up, replay, run the branches until one completes, record. Raises `RaceError` when all failed."""
    check_branches("race", name, functions)
    entry = scope.visit(RaceEntry, name)
    if not entry.finished:
        begin(scope, entry, functions)
        await _run(scope, entry, functions)
        if scope.run.dry:
            raise Stopped
        await scope.record(entry)
    elif scope.run.rolling_back:  # for the handlers of what is still recorded
        left = {name: function for name, function in functions.items() if entry.winner in (None, name)}
        await _run(scope, entry, left)
    return _result(entry)


async def _run(scope: Scope, entry: RaceEntry, functions: Mapping[str, BranchFunction]) -> None:
    """Run the branches until one completes; then the others are gone, tasks and entries."""
    branches = Branches(scope, entry, functions)
    try:
        while ended := await branches.ended():
            winners = [name for name in ended if entry.branches[name].status is Status.COMPLETED]
            if winners:
                entry.winner = winners[0]
                break
    finally:
        await branches.end()
    if scope.run.dry:
        return
    for name, branch in entry.branches.items():
        if entry.winner is not None and name != entry.winner:
            _forget(scope, branch_scope(entry, name))
            if branch.status is not Status.FAILED:
                branch.status, branch.output = Status.CANCELLED, None
    entry.finish(Status.FAILED if entry.winner is None else Status.COMPLETED, scope.run.port.clock.now())


def _forget(scope: Scope, location: str) -> None:
    """The entries of a branch that lost go. What it received waits again, where nothing came of it: a completable
    message that it did not complete, any other after which no step was begun."""
    run = scope.run
    entries = run.journal.below(location)
    steps = [entry for entry in entries if entry.kind is Kind.STEP]
    received = [entry for entry in entries if isinstance(entry, MessageEntry)]
    unused = [
        message
        for entry in received
        if not entry.completable and not any(_follows(run.journal, entry, step) for step in steps)
        for message in entry.messages
    ]
    run.port.release([message.id for entry in received for message in entry.unanswered])
    run.journal.drop_scope(location)
    run.journal.put(run.port.put_back(unused))


def _follows(journal: Journal, entry: Entry, step: Entry) -> bool:
    """Whether a step was begun after an entry, and not in another branch beside it."""
    beside = isinstance(journal.at(locations.common(entry.location, step.location)), JoinEntry | RaceEntry)
    return step.seq > entry.seq and not beside


def _result(entry: RaceEntry) -> tuple[str, Value]:
    if entry.winner is None:
        errors = {n: branch.failure for n, branch in entry.branches.items() if branch.failure is not None}
        raise RaceError(entry.location, entry.name, errors)
    output = entry.branches[entry.winner].output
    return entry.winner, None if output is None else codec.decode(output)
