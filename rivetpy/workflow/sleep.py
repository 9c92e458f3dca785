"""sleep, sleep_until: wait for a moment that is recorded once (spec workflows 6)."""

from __future__ import annotations

from rivetpy.workflow.entries import SleepEntry, Status
from rivetpy.workflow.scope import Scope, verb
from rivetpy.workflow.waits import Wait


@verb
async def sleep(scope: Scope, name: str, deadline: int) -> None:
    """Wait until ``deadline`` (epoch ms), or until the deadline that was recorded before."""
    entry = scope.visit(SleepEntry, name)
    if entry.finished:
        return
    run = scope.run
    if not run.journal.has(entry):
        entry.deadline = deadline
        if deadline > run.port.clock.now():
            await scope.record(entry)
    while entry.deadline > run.port.clock.now():
        await scope.wait(Wait("sleep", entry.location, entry.deadline))
    entry.finish(Status.COMPLETED, run.port.clock.now())
    await scope.record(entry)
