"""step: run a function once, durably, with retries and a time limit (spec workflows 3)."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from rivetpy import codec
from rivetpy.calling import misfit
from rivetpy.clock import TimeLimit
from rivetpy.codec import Value
from rivetpy.errors import EncodeError
from rivetpy.workflow import events
from rivetpy.workflow import location as locations
from rivetpy.workflow.duration import Duration, deadline, milliseconds
from rivetpy.workflow.entries import Status, StepEntry
from rivetpy.workflow.errors import (
    STEP_ERRORS,
    CriticalError,
    Evicted,
    RollbackCheckpointError,
    RollbackError,
    Signal,
    WorkflowUsageError,
)
from rivetpy.workflow.failure import Failure, failure_of
from rivetpy.workflow.port import ActorData
from rivetpy.workflow.run import RollbackHandler, Run
from rivetpy.workflow.scope import Scope, is_cancelled, verb
from rivetpy.workflow.stepcontext import StepContext
from rivetpy.workflow.threads import Threads
from rivetpy.workflow.waits import Wait

StepFunction = Callable[..., Value]

ENGINE_CRASH = "EngineCrash"

_threads = Threads()

#: 2.0 ** this is far beyond any retry_backoff_max, and base * it is at worst inf, which min() cuts.
_MAX_EXPONENT = 1000


@dataclass(frozen=True, slots=True)
class StepOptions:
    """How a step is tried, checked and in milliseconds; ``timeout`` in seconds, None for none."""

    max_retries: int
    backoff_base: int
    backoff_max: int
    timeout: float | None
    retry_on_timeout: bool
    ephemeral: bool


@functools.lru_cache(maxsize=512, typed=True)  # a workflow has few kinds of steps and runs them often
def options(
    max_retries: int,
    backoff_base: Duration,
    backoff_max: Duration,
    timeout: Duration | None,
    retry_on_timeout: bool,
    ephemeral: bool,
) -> StepOptions:
    """The options as a user gives them. Raises TypeError or ValueError for what means nothing."""
    if isinstance(max_retries, bool) or not isinstance(max_retries, int) or max_retries < 0:
        raise ValueError(f"max_retries is a whole number from 0, not {max_retries!r}")
    limit = milliseconds(timeout, "timeout") if timeout else 0
    return StepOptions(
        max_retries,
        milliseconds(backoff_base, "retry_backoff_base"),
        milliseconds(backoff_max, "retry_backoff_max"),
        limit / 1000 if limit else None,
        retry_on_timeout,
        ephemeral,
    )


#: What a step has when nothing is said.
DEFAULT = options(3, 0.1, 30, 30, False, False)


def backoff_ms(attempts: int, base_ms: int, longest_ms: int) -> int:
    """Milliseconds from an attempt's start to the next: min(longest, base * 2**attempts)."""
    return int(min(longest_ms, base_ms * 2.0 ** min(attempts, _MAX_EXPONENT)))


@dataclass(frozen=True, slots=True)
class Result:
    """An attempt that succeeded: the bytes, and the value as re-read from them."""

    data: bytes
    value: Value


@dataclass(frozen=True, slots=True)
class Problem:
    """An attempt that did not; ``reason`` is set when no retry may follow."""

    failure: Failure
    reason: str | None


@verb
async def step(
    scope: Scope,
    name: str,
    function: StepFunction,
    args: tuple[Value, ...],
    options: StepOptions,
    rollback: RollbackHandler | None = None,
) -> Value:
    """Look up, replay, wait, perform, record."""
    if not callable(function):
        raise _no_function(name, function)
    if rollback is not None and not scope.armed:
        raise RollbackCheckpointError(name)
    entry = scope.visit(StepEntry, name)
    if not entry.finished:
        if scope.frontier.crashed:
            await _count_crash(scope, entry, options)
        await _try(scope, entry, function, args, options, rollback)
    if rollback is not None and entry.status is Status.COMPLETED:
        scope.run.handlers.append((entry, rollback))
    return _result(entry, name)


def _no_function(name: str, given: object) -> WorkflowUsageError:
    locations.segment(name)  # the two may be swapped
    shown = type(given).__name__
    if isinstance(given, Coroutine):
        given.close()
        shown = f"what {getattr(given, '__name__', 'a coroutine function')}(…) returned"
    return WorkflowUsageError(
        f"Step {name!r} takes a function and its arguments, not {shown}: await ctx.step({name!r}, fn, *args)."
    )


async def _try(
    scope: Scope,
    entry: StepEntry,
    function: StepFunction,
    args: tuple[Value, ...],
    options: StepOptions,
    rollback: RollbackHandler | None,
) -> None:
    """Wait, perform and record, attempt after attempt, until the entry is finished."""
    run = scope.run
    while not entry.finished:
        if entry.retry_at is not None:
            await scope.wait(Wait("retry", entry.location, entry.retry_at))
        await scope.settle()
        entry.started_at = run.port.clock.now()
        entry.attempts += 1
        data = run.port.open_step()
        try:
            outcome = await attempt(run, entry, data, function, args, options)
        finally:
            if scope.frontier.cancelled:
                data.abandon()
        if scope.frontier.cancelled:  # it lost a race, and swallowed its cancellation
            raise Evicted
        if isinstance(outcome, Result):
            if rollback is not None:
                entry.done = run.journal.next_seq()
            try:
                await _record_result(scope, entry, data, outcome, options)
            except EncodeError as error:  # of the state; the result was fine
                outcome = _unstorable(entry, "left a state", error)
        if isinstance(outcome, Problem):
            await _record_problem(scope, entry, data, outcome, options)


def _result(entry: StepEntry, name: str) -> Value:
    """The recorded value, fresh from its bytes; or the recorded failure, raised."""
    if entry.output is not None:
        return codec.decode(entry.output)
    assert entry.reason is not None and entry.failure is not None
    raise STEP_ERRORS[entry.reason](entry.location, name, entry.attempts, entry.failure)


async def _count_crash(scope: Scope, entry: StepEntry, options: StepOptions) -> None:
    """Count the attempt during which the engine may have died, before the body runs again."""
    run = scope.run
    if entry.retry_at is not None and entry.retry_at > run.port.clock.now():
        return  # it died while the step waited for its next attempt
    allowed = options.max_retries + 1
    entry.attempts += 1
    entry.retry_at = None
    entry.started_at = entry.started_at or run.port.clock.now()
    entry.failure = engine_crash("this step")
    run.port.report(events.step_crashed(entry.location, entry.attempts, allowed))
    if entry.attempts >= allowed:
        entry.reason = "exhausted"
        entry.finish(Status.EXHAUSTED, run.port.clock.now())
    await scope.record(entry)


def engine_crash(what: str, times: int | None = None) -> Failure:
    """The failure of an attempt that ended its process."""
    return Failure(ENGINE_CRASH, "rivetpy", f"the engine ended uncleanly during {what}", metadata=times)


async def attempt(
    run: Run,
    entry: StepEntry,
    data: ActorData,
    function: StepFunction,
    args: tuple[Value, ...],
    options: StepOptions,
) -> Result | Problem:
    """Run the body once. Every way it may end becomes a value, except being put away."""
    limit = TimeLimit(run.port.clock, options.timeout)
    context = StepContext(run.port, data, entry, run.rewound_at, lambda: limit.expired() or run.given_up)
    run.working[entry.location] = entry
    try:
        with limit:
            value = await _call(function, context, args, entry.name)
        if limit.expired():  # the body swallowed its cancellation: the result came too late
            return _timed_out(entry, options)
        return Result(*codec.reread(value))
    except EncodeError as error:
        return _unstorable(entry, "returned a value", error)
    except Signal as signal:
        if run.leaving:
            raise
        return Problem(failure_of(signal), "critical")
    except asyncio.CancelledError as error:
        if run.leaving:
            raise Evicted from None
        if is_cancelled():
            raise
        return Problem(failure_of(error), None)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        if limit.expired():
            return _timed_out(entry, options)
        if isinstance(error, BaseExceptionGroup) and run.leaving:
            raise Evicted from error
        return Problem(failure_of(error), _final_reason(error))
    finally:
        run.working.pop(entry.location, None)
        context.end()


async def _call(function: StepFunction, context: StepContext, args: tuple[Value, ...], name: str) -> Value:
    try:
        return await _run(function, context, args)
    except TypeError:
        if (why := misfit(function, context, *args)) is None:
            raise
    shown = getattr(function, "__name__", repr(function))
    raise WorkflowUsageError(
        f"Step {name!r} calls {shown}(step{', …' if args else ''}), which doesn't fit its parameters: {why}. "
        f"The first one is the step's context: def {shown}(step, …)."
    )


async def _run(function: StepFunction, context: StepContext, args: tuple[Value, ...]) -> Value:
    if inspect.iscoroutinefunction(function):
        return await function(context, *args)
    body = functools.partial(
        contextvars.copy_context().run, _without_stop_iteration, function, context, *args
    )
    value = await _threads.run(body, context.let_go)
    # ``lambda step: charge(step, 3)`` is a def whose result still has to be awaited.
    return await value if inspect.isawaitable(value) else value


def _without_stop_iteration(function: StepFunction, *args: Value) -> Value:
    """A future can't hold StopIteration: without this the step would never end."""
    try:
        return function(*args)
    except StopIteration as error:
        raise RuntimeError("the step body raised StopIteration") from error


#: Errors that end a step at once, and the reason they give.
_FINAL: dict[type[Exception], str] = {
    RollbackError: "rollback",
    CriticalError: "critical",
    WorkflowUsageError: "critical",
}


def _final_reason(error: BaseException) -> str | None:
    """Why no retry may follow this error, or one inside its group; None when one may."""
    for kind, reason in _FINAL.items():
        inside = isinstance(error, BaseExceptionGroup) and error.subgroup(kind) is not None
        if inside or isinstance(error, kind):
            return reason
    return None


def _timed_out(entry: StepEntry, options: StepOptions) -> Problem:
    failure = Failure(
        "StepTimeout", "rivetpy", f"step {entry.name!r} took longer than its timeout of {options.timeout:g} s"
    )
    return Problem(failure, None if options.retry_on_timeout else "timeout")


def _unstorable(entry: StepEntry, what: str, error: EncodeError) -> Problem:
    failure = failure_of(
        EncodeError(error.path, f"step {entry.name!r} {what} that can't be stored: {error.problem}")
    )
    return Problem(failure, "critical")


async def _record_result(
    scope: Scope, entry: StepEntry, data: ActorData, result: Result, options: StepOptions
) -> None:
    entry.output, entry.failure, entry.retry_at = result.data, None, None
    before = entry.status
    entry.finish(Status.COMPLETED, scope.run.port.clock.now())
    if options.ephemeral and data.untouched:
        scope.run.journal.write(entry)
        return
    try:
        if data.sends:  # what it sent has arrived before the next verb looks for messages
            await scope.record(entry, data)
        else:
            scope.owe(entry, data)
    except EncodeError:
        entry.output, entry.status, entry.completed_at = None, before, None
        raise


async def _record_problem(
    scope: Scope, entry: StepEntry, data: ActorData, problem: Problem, options: StepOptions
) -> None:
    """The failed attempt, and the state it left: changes roll forward (spec workflows 3)."""
    run, allowed = scope.run, options.max_retries + 1
    entry.failure = problem.failure
    entry.reason = problem.reason or ("exhausted" if entry.attempts >= allowed else None)
    delay = None
    if entry.reason is None:
        delay = backoff_ms(entry.attempts, options.backoff_base, options.backoff_max)
        entry.retry_at = deadline(entry.started_at or 0, delay)
    else:
        entry.retry_at = None
        final = Status.EXHAUSTED if entry.reason == "exhausted" else Status.FAILED
        entry.finish(final, run.port.clock.now())
    data.discard()
    try:
        await scope.record(entry, data)
    except EncodeError:
        await scope.record(entry)  # the state can't be stored: the failure is, the state stays as it was
    run.port.report(events.step_failed(entry.location, entry.attempts, allowed, problem.failure, delay))
    await run.tell(
        events.StepErrorEvent(
            entry.name,
            entry.location,
            entry.attempts,
            options.max_retries,
            delay is not None,
            None if delay is None else delay / 1000,
            entry.retry_at,
            problem.failure,
        )
    )
