"""loop: repeat a function, carrying state, keeping only recent iterations (spec workflows 5)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rivetpy import codec
from rivetpy.codec import Value
from rivetpy.workflow import location as locations
from rivetpy.workflow.entries import IterationEntry, LoopEntry, Status
from rivetpy.workflow.errors import Stopped, WorkflowUsageError
from rivetpy.workflow.run import Run
from rivetpy.workflow.scope import Scope, verb


@dataclass(frozen=True, slots=True)
class Continue:
    """Go on to the next iteration with this state."""

    state: Value = None


@dataclass(frozen=True, slots=True)
class Break:
    """End the loop; ``value`` is what `ctx.loop` returns."""

    value: Value = None


class Loop:
    """What the function of a loop returns: `Loop.continue_(state)` or `Loop.break_(value)`."""

    continue_ = Continue
    break_ = Break


class Stateless:
    """The type of `STATELESS`, the default of ``state``; None is a state like any other."""

    def __repr__(self) -> str:
        return "STATELESS"


STATELESS: Final = Stateless()
DEFAULT_PRUNE_INTERVAL = 20

#: One iteration, given its scope and its state (`STATELESS` for none).
IterationFunction = Callable[[Scope, Value], Value]


@verb
async def loop(
    scope: Scope,
    name: str,
    iterate: IterationFunction,
    state: Value,
    history_prune_interval: int,
    history_size: int | None,
) -> Value:
    """Look up, replay, then iterate from the recorded position with the recorded state."""
    keep = history_prune_interval if history_size is None else history_size
    _check(name, history_prune_interval, keep)
    # Before the visit: what can't be stored begins no loop.
    first = None if state is STATELESS or scope.recorded(name) is not None else codec.encode(state)
    entry = scope.visit(LoopEntry, name)
    run = scope.run
    if run.rolling_back:
        await _revisit(scope, entry, iterate, name)
    if entry.finished:
        return None if entry.output is None else codec.decode(entry.output)
    if run.dry:
        if not run.rolling_back:
            await _iterate(scope, entry, entry.iteration, entry.state, iterate, name)
        raise Stopped
    if not run.journal.has(entry):
        entry.state = first
        run.journal.write(entry)  # travels with the first thing an iteration commits
    while True:
        run.check_misuse()
        commits = run.commits
        result = await _iterate(scope, entry, entry.iteration, entry.state, iterate, name)
        if isinstance(result, Break):
            return await _finish(scope, entry, result, keep)
        _advance(run, entry, result, history_prune_interval, keep)
        if run.commits == commits:  # an iteration that commits nothing must not hold the event loop
            await run.flush()


def _check(name: str, interval: int, keep: int) -> None:
    for option, value, least in (("history_prune_interval", interval, 1), ("history_size", keep, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"loop {name!r}: {option} is a whole number from {least}, not {value!r}")


async def _revisit(scope: Scope, entry: LoopEntry, iterate: IterationFunction, name: str) -> None:
    """For a rollback: go over every iteration that is still kept, for the handlers of its steps."""
    for index in range(entry.first, entry.iteration + 1):
        state = entry.state
        if index < entry.iteration:
            past = scope.run.journal.at(locations.iteration(entry.location, index))
            state = past.state if isinstance(past, IterationEntry) else None
        await _iterate(scope, entry, index, state, iterate, name)


async def _iterate(
    scope: Scope, entry: LoopEntry, index: int, given: bytes | None, iterate: IterationFunction, name: str
) -> Continue | Break:
    """Run one iteration in its own scope; what it decided."""
    state = STATELESS if given is None else codec.decode(given)
    inner = scope.inner(locations.iteration(entry.location, index))
    result = iterate(inner, state)
    if inspect.isawaitable(result):
        result = await result
    inner.finish()
    if isinstance(result, Continue | Break):
        return result
    if result is not None:
        raise WorkflowUsageError(
            f"Loop {name!r} returned {result!r} from an iteration; return Loop.continue_(state), "
            "Loop.break_(value) or nothing."
        )
    if entry.state is not None:
        raise WorkflowUsageError(
            f"Loop {name!r} carries state but an iteration returned nothing; return Loop.continue_(state) "
            "with the state of the next iteration, or Loop.break_(value)."
        )
    return Continue()


def _advance(run: Run, entry: LoopEntry, result: Continue, interval: int, keep: int) -> None:
    """Move to the next iteration. Put off until the next commit: until then the recorded entries lead here again."""
    if entry.state is not None:
        _keep_state(run, entry, entry.state)
        entry.state = codec.encode(result.state)
    elif result.state is not None:
        raise WorkflowUsageError(
            f"Loop {entry.location!r} got a state from Loop.continue_() but was started without one; "
            "pass state=… to ctx.loop."
        )
    entry.iteration += 1
    if entry.iteration % interval == 0:
        _prune(run, entry, entry.iteration - keep)
    run.journal.write(entry)


def _keep_state(run: Run, entry: LoopEntry, state: bytes) -> None:
    """Remember what the iteration that ends was given: a rewind or a rollback may come back to it."""
    now = run.port.clock.now()
    location = locations.iteration(entry.location, entry.iteration)
    run.journal.write(IterationEntry(location, entry.seq, Status.COMPLETED, now, now, state))


async def _finish(scope: Scope, entry: LoopEntry, result: Break, keep: int) -> Value:
    entry.output, value = codec.reread(result.value)
    entry.finish(Status.COMPLETED, scope.run.port.clock.now())
    _prune(scope.run, entry, entry.iteration + 1 - keep)
    await scope.record(entry)
    return value


def _prune(run: Run, entry: LoopEntry, before: int) -> None:
    """Forget the iterations before this one."""
    for index in range(entry.first, before):
        run.journal.drop_scope(locations.iteration(entry.location, index))
    entry.first = max(entry.first, before)
