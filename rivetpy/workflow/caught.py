"""try_step, try_block: failures as values instead of exceptions (spec workflows 4)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from rivetpy import codec
from rivetpy.codec import Value
from rivetpy.workflow.entries import BlockEntry, Status
from rivetpy.workflow.errors import JoinError, RaceError, StepError, WorkflowUsageError
from rivetpy.workflow.failure import Failure, failure_of
from rivetpy.workflow.scope import Scope, verb

T = TypeVar("T")
F = TypeVar("F")

StepKind = Literal["critical", "timeout", "exhausted", "rollback"]
BlockSource = Literal["step", "join", "race", "block"]
STEP_KINDS: tuple[StepKind, ...] = ("critical", "timeout", "exhausted", "rollback")
BLOCK_SOURCES: tuple[BlockSource, ...] = ("step", "join", "race", "block")


@dataclass(frozen=True, slots=True)
class Ok(Generic[T]):
    """It worked; ``value`` is the result."""

    value: T


@dataclass(frozen=True, slots=True)
class Failed(Generic[F]):
    """It failed in a way that was to be caught; ``failure`` says how."""

    failure: F


@dataclass(frozen=True, slots=True)
class StepFailure:
    """A step that failed for good."""

    kind: StepKind
    step_name: str
    attempts: int
    error: Failure


@dataclass(frozen=True, slots=True)
class BlockFailure:
    """A block that failed; ``source`` is what in it did."""

    source: BlockSource
    name: str
    error: Failure


def step_failure(error: StepError, catch: Collection[StepKind]) -> Failed[StepFailure]:
    """The step's error as a value; raises it when its kind is not to be caught."""
    kind: StepKind = next(kind for kind in STEP_KINDS if kind == error.reason)
    if kind not in catch:
        raise error
    return Failed(StepFailure(kind, error.step_name, error.attempts, error.failure))


def check_catch(verb: str, name: str, catch: Collection[str], known: tuple[str, ...]) -> None:
    """Raise ValueError for something to catch that does not exist."""
    for kind in [catch] if isinstance(catch, str) else catch:
        if kind not in known or isinstance(catch, str):
            raise ValueError(f"{verb} {name!r}: catch is a tuple of {', '.join(known)}; not {catch!r}")


@verb
async def try_block(
    scope: Scope, name: str, function: Callable[[Scope], Value], catch: Collection[BlockSource]
) -> Ok[Value] | Failed[BlockFailure]:
    """Run a scope. How it ended is put off until the next commit: until then its entries lead here again."""
    check_catch("try_block", name, catch, BLOCK_SOURCES)
    entry = scope.visit(BlockEntry, name)
    if not entry.finished or scope.run.rolling_back:
        if not scope.run.journal.has(entry):
            scope.run.journal.write(entry)  # travels with the first thing in it that is recorded
        try:
            output = await _run(scope, entry, function)
        except (Exception, BaseExceptionGroup) as error:
            source = _source(error)
            if source not in catch or scope.leaving:
                raise
            _finish(scope, entry, Status.FAILED, failure=failure_of(error), source=source)
        else:
            _finish(scope, entry, Status.COMPLETED, output=output)
    return _result(entry)


async def _run(scope: Scope, entry: BlockEntry, function: Callable[[Scope], Value]) -> bytes:
    inner = scope.inner(entry.location)
    result = function(inner)
    value = await result if inspect.isawaitable(result) else result
    inner.finish()
    return codec.encode(value)


def _finish(
    scope: Scope,
    entry: BlockEntry,
    status: Status,
    *,
    output: bytes | None = None,
    failure: Failure | None = None,
    source: BlockSource | None = None,
) -> None:
    if entry.finished:  # visited again for its rollback handlers
        return
    entry.output, entry.failure, entry.source = output, failure, source
    entry.finish(status, scope.run.port.clock.now())
    if not scope.run.dry:
        scope.run.journal.write(entry)


def _source(error: BaseException) -> BlockSource | None:
    """What failed; None for what no block catches."""
    if isinstance(error, WorkflowUsageError) or not isinstance(error, Exception):
        return None
    kinds: dict[type[Exception], BlockSource] = {StepError: "step", JoinError: "join", RaceError: "race"}
    return next((source for kind, source in kinds.items() if isinstance(error, kind)), "block")


def _result(entry: BlockEntry) -> Ok[Value] | Failed[BlockFailure]:
    if entry.failure is None:
        return Ok(None if entry.output is None else codec.decode(entry.output))
    source = next(source for source in BLOCK_SOURCES if source == entry.source)
    return Failed(BlockFailure(source, entry.name, entry.failure))
