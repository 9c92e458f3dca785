"""rollback_checkpoint, and running the handlers of what was done since (spec workflows 9)."""

from __future__ import annotations

import dataclasses

from rivetpy import codec
from rivetpy.errors import EncodeError
from rivetpy.workflow import events
from rivetpy.workflow.entries import CheckpointEntry, Status, StepEntry
from rivetpy.workflow.errors import Evicted
from rivetpy.workflow.failure import Failure, failure_of
from rivetpy.workflow.port import ActorData
from rivetpy.workflow.run import RollbackHandler, Run
from rivetpy.workflow.scope import Scope, verb
from rivetpy.workflow.step import DEFAULT, ENGINE_CRASH, Problem, attempt, engine_crash


@verb
async def rollback_checkpoint(scope: Scope, name: str) -> None:
    """Arm rolling back: steps from here on may have handlers."""
    entry = scope.visit(CheckpointEntry, name)
    scope.arm()
    if not entry.finished:
        entry.finish(Status.COMPLETED, scope.run.port.clock.now())
        scope.run.journal.write(entry)  # means nothing before a step is recorded, so it travels with that


async def run_handlers(run: Run, failure: Failure, *, crashed: bool) -> Failure | None:
    """Run the collected handlers that have not run, in reverse order of completion, each recorded.

    ``crashed``: the engine ended uncleanly while the first of them may have been running. Returns why one failed, after
    which the remaining ones are left for a later recover; None when all ran.
    Raises `Evicted` when the run is put away meanwhile.
    """
    todo = [(entry, handler) for entry, handler in run.handlers if entry.rolled_back_at is None]
    if not todo:
        return None
    await run.begin_rollback(failure)
    todo.sort(key=lambda item: item[0].done or 0, reverse=True)
    if crashed and (problem := await _count_crash(run, todo[0][0])) is not None:
        return problem
    for entry, handler in todo:
        if run.leaving:
            raise Evicted
        problem = await _run_handler(run, entry, handler)
        if problem is not None:
            return problem
    return None


async def _count_crash(run: Run, entry: StepEntry) -> Failure | None:
    """Count the attempt during which the engine may have died; why there is no further one, if so."""
    allowed, crashes = DEFAULT.max_retries + 1, _crashes(entry) + 1
    given_up = crashes >= allowed
    # The count stands in the failure as long as it matters: a recover begins anew.
    entry.rollback_failure = engine_crash("this rollback handler", None if given_up else crashes)
    run.port.report(events.rollback_crashed(entry.location, crashes, allowed))
    run.journal.write(entry)
    await run.flush()
    return entry.rollback_failure if given_up else None


def _crashes(entry: StepEntry) -> int:
    """How often the engine died in this handler."""
    failure = entry.rollback_failure
    return failure.metadata or 0 if failure is not None and failure.type == ENGINE_CRASH else 0


async def _run_handler(run: Run, entry: StepEntry, handler: RollbackHandler) -> Failure | None:
    """One handler, recorded with the state it changed; why it failed."""
    output = None if entry.output is None else codec.decode(entry.output)
    data = run.port.open_step()
    # The handler's own identity: what it sends elsewhere is not what the step sent.
    guise = dataclasses.replace(entry, location=f"{entry.location}#rollback", attempts=_crashes(entry) + 1)
    outcome = await attempt(run, guise, data, handler, (output,), DEFAULT)
    problem = outcome.failure if isinstance(outcome, Problem) else None
    try:
        await _record(run, entry, problem, data)
    except EncodeError as error:  # of the state the handler left
        problem = failure_of(error)
        await _record(run, entry, problem)
    run.port.report(events.rolled_back(entry.location, problem))
    if problem is not None:
        await run.tell(events.RollbackErrorEvent(entry.name, entry.location, problem))
    return problem


async def _record(run: Run, entry: StepEntry, problem: Failure | None, data: ActorData | None = None) -> None:
    entry.rollback_failure = problem
    entry.rolled_back_at = run.port.clock.now() if problem is None else None
    if problem is not None and data is not None:
        data.discard()
    run.journal.write(entry)
    await run.flush(data)
