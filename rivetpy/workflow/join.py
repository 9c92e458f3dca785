"""join: run branches at once and wait for all of them (spec workflows 8)."""

from __future__ import annotations

from collections.abc import Mapping

from rivetpy import codec
from rivetpy.codec import Value
from rivetpy.workflow.branches import Branches, BranchFunction, begin, check_branches
from rivetpy.workflow.entries import JoinEntry, Status
from rivetpy.workflow.errors import JoinError, Stopped
from rivetpy.workflow.scope import Scope, verb


@verb
async def join(scope: Scope, name: str, functions: Mapping[str, BranchFunction]) -> dict[str, Value]:
    """Look up, replay, run what is left of the branches, record. Raises `JoinError` once all have ended."""
    check_branches("join", name, functions)
    entry = scope.visit(JoinEntry, name)
    run = scope.run
    if not entry.finished or run.rolling_back:
        begin(scope, entry, functions)
        await _run(scope, entry, functions)
    if not entry.finished:
        if run.dry:
            raise Stopped
        failed = any(branch.status is Status.FAILED for branch in entry.branches.values())
        entry.finish(Status.FAILED if failed else Status.COMPLETED, run.port.clock.now())
        await scope.record(entry)
    return _result(entry)


async def _run(scope: Scope, entry: JoinEntry, functions: Mapping[str, BranchFunction]) -> None:
    """Run the branches that have no result yet (for a rollback: all of them, for their handlers)."""
    run = scope.run
    ended = (Status.COMPLETED, Status.FAILED)
    left = {
        name: function
        for name, function in functions.items()
        if run.rolling_back or entry.branches[name].status not in ended
    }
    branches = Branches(scope, entry, left)
    try:
        while await branches.ended():
            if not run.dry:
                run.journal.write(
                    entry
                )  # put off: until the next commit the branch's entries lead here again
    finally:
        await branches.end()


def _result(entry: JoinEntry) -> dict[str, Value]:
    branches = entry.branches.items()
    errors = {name: branch.failure for name, branch in branches if branch.failure is not None}
    if errors:
        raise JoinError(entry.location, entry.name, errors)
    return {name: None if branch.output is None else codec.decode(branch.output) for name, branch in branches}
