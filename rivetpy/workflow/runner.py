"""The life of a run: passes over the journal until the function ends, then the rollback if it failed."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses

from rivetpy import codec
from rivetpy.workflow import events, rollback
from rivetpy.workflow.errors import Evicted, HistoryDivergedError, Signal, Stopped, WorkflowUsageError
from rivetpy.workflow.failure import failure_of
from rivetpy.workflow.location import ROOT
from rivetpy.workflow.outcomes import Completed, Diverged, Failed, Outcome, Suspended, described
from rivetpy.workflow.run import Run
from rivetpy.workflow.scope import Frontier, Scope, is_cancelled


async def execute(run: Run) -> Outcome:
    """Run the function until it ends or the run is closed; roll back if it failed. Called once per run."""
    if run.failing is not None:
        return await _roll_back(run, Failed(run.failing))
    outcome = await _passes(run)
    if isinstance(outcome, Failed):
        await run.tell(events.WorkflowErrorEvent(outcome.failure))
        return await _roll_back(run, outcome) if run.journal.undoable else outcome
    return outcome


async def check(run: Run) -> Outcome:
    """Go over the journal and no further: Diverged, or anything else when the code fits. Changes nothing."""
    run.dry = True
    return await _pass(run)


async def _passes(run: Run) -> Outcome:
    while True:
        outcome = await _pass(run)
        if not run.held or run.closing or not isinstance(outcome, Suspended):
            return outcome
        try:
            await run.block_on_held()
        except Evicted:
            return Suspended(tuple(run.waits))


async def _roll_back(run: Run, failed: Failed) -> Outcome:
    """Collect the handlers in a pass that goes no further than the journal, then run them."""
    crashed, run.crashed = run.crashed and run.failing is not None, False
    run.dry = run.rolling_back = True
    try:
        outcome = await _pass(run)
    finally:
        run.dry = run.rolling_back = False
    if isinstance(outcome, Diverged) or run.leaving:
        return outcome if isinstance(outcome, Diverged) else Suspended((), run.refused)
    try:
        return Failed(failed.failure, await rollback.run_handlers(run, failed.failure, crashed=crashed))
    except Evicted:
        return Suspended((), run.refused)


async def _pass(run: Run) -> Outcome:
    """One run of the function from the top; how it ended, as a value."""
    run.begin_pass()
    scope = Scope(run, ROOT, Frontier(run.crashed))
    run.crashed = False
    outcome: Outcome
    try:
        output = codec.encode(await run.function(scope))
        if not run.leaving:
            run.check_misuse()
            scope.close()
        await run.flush()
        outcome = Completed(output)
    except HistoryDivergedError as error:
        outcome = Diverged(error)
    except (Evicted, Stopped):
        outcome = Suspended(tuple(run.waits))
    except BaseExceptionGroup as group:
        outcome = Suspended(()) if group.subgroup(Signal) is not None else Failed(failure_of(group))
    except asyncio.CancelledError as error:
        if run.closing:
            outcome = Suspended(tuple(run.waits))
        elif is_cancelled():
            raise
        else:
            outcome = Failed(failure_of(error))
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # a SystemExit would end the engine, and the next one, and the next
        outcome = Failed(failure_of(error))
    if not isinstance(outcome, Completed):  # that is recorded next, and durable only with all before it
        with contextlib.suppress(Evicted):
            await scope.settle()
    return _settled(run, _blamed(run, outcome))


def _blamed(run: Run, outcome: Outcome) -> Outcome:
    """What failed because verbs were misused says so first."""
    if run.misuse is None or not isinstance(outcome, Failed) or run.misuse in str(outcome.failure):
        return outcome
    failure = failure_of(WorkflowUsageError(run.misuse))
    return Failed(dataclasses.replace(failure, causes=(outcome.failure,)))


def _settled(run: Run, outcome: Outcome) -> Outcome:
    """What the pass really came to, when user code swallowed or replaced a signal."""
    if run.diverged is not None:
        if not isinstance(outcome, Diverged | Suspended):
            run.port.report(events.signal_swallowed(described(outcome)))
        return Diverged(run.diverged)
    if run.refused is not None:
        return Suspended((), run.refused)
    if run.leaving and not isinstance(outcome, Suspended):
        run.port.report(events.signal_swallowed(described(outcome)))
        return Suspended(tuple(run.waits))
    return outcome
