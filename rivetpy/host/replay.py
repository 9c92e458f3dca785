"""Does the code as it is now fit a recorded journal? Looks, and touches nothing (spec workflows 10, cli replay)."""

from __future__ import annotations

import enum
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NoReturn

from rivetpy import codec
from rivetpy.actors import ActorDefinition
from rivetpy.clock import Clock, SystemClock
from rivetpy.codec import Value
from rivetpy.host.record import ENDED, WorkflowStatus, unpack
from rivetpy.store import ActorRow, Batch
from rivetpy.workflow import layout, runner
from rivetpy.workflow.context import bind
from rivetpy.workflow.entries import Kind, Message
from rivetpy.workflow.events import Event
from rivetpy.workflow.failure import Failure
from rivetpy.workflow.journal import Journal
from rivetpy.workflow.outcomes import Diverged
from rivetpy.workflow.port import ActorData
from rivetpy.workflow.run import Run

Rows = Sequence[tuple[bytes, bytes]]


class Fit(enum.StrEnum):
    """How code and journal go together."""

    FITS = "fits"
    DIVERGED = "diverged"
    NO_WORKFLOW = "no_workflow"
    ENDED = "ended"
    #: Not looked at; a recover would have it go on.
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What a replay found; for a divergence: where, what the code asked for, what is recorded, and file:line."""

    status: Fit
    entries: int = 0
    location: str | None = None
    expected: str | None = None
    found: str | None = None
    site: str | None = None
    error: Failure | None = None


async def check_replay(
    definition: ActorDefinition, row: ActorRow, rows: Rows, *, failed: bool = False
) -> ReplayReport:
    """Replay a journal against a definition's workflow: no body runs, nothing is written, sent or waited for.

    ``failed``: also one that failed, and will go on only if somebody recovers it.
    """
    stored = dict(rows)
    if definition.run is None or layout.WORKFLOW not in stored:
        return ReplayReport(Fit.NO_WORKFLOW)
    journal = Journal(row.id, [item for item in rows if item[0].startswith(layout.JOURNAL)])
    entries = sum(entry.kind is not Kind.ITERATION for entry in journal)
    status = unpack(stored[layout.WORKFLOW]).status
    if status in ENDED and not (failed and status is WorkflowStatus.FAILED):
        return ReplayReport(Fit.FAILED if status is WorkflowStatus.FAILED else Fit.ENDED, entries)
    run = Run(bind(definition.run.function), journal, _Nowhere(definition, row, stored))
    outcome = await runner.check(run)
    if isinstance(outcome, Diverged):
        error = outcome.error
        return ReplayReport(
            Fit.DIVERGED, entries, error.location, error.expected, error.found, error.site, error.failure()
        )
    return ReplayReport(Fit.FITS, entries)


class _Nowhere:
    """A port without a world behind it."""

    def __init__(self, definition: ActorDefinition, row: ActorRow, stored: dict[bytes, bytes]) -> None:
        self.actor_id, self.name, self.key = row.id, row.name, row.key
        self.input: Value = codec.decode(stored[layout.INPUT]) if layout.INPUT in stored else None
        self.clock: Clock = SystemClock()
        self.log = logging.LoggerAdapter(logging.getLogger("rivetpy.actor"), {})
        self._queues = definition.queues

    def take(self, queues: frozenset[str] | None, count: int, *, keep: bool) -> list[Message]:
        return []

    def waiting(self, queues: frozenset[str] | None) -> bool:
        return False

    def queue_names(self, names: list[str] | None, wait: str) -> frozenset[str] | None:
        return None if names is None else frozenset(names)

    def open_step(self) -> NoReturn:
        raise AssertionError("a replay runs no step")

    def commit(self, batch: Batch, data: ActorData | None = None) -> NoReturn:
        raise AssertionError("a replay writes nothing")

    async def complete(self, batch: Batch, message: Message, response: bytes) -> None:
        raise AssertionError("a replay completes nothing")

    async def begin_rollback(self, batch: Batch, failure: Failure) -> None:
        raise AssertionError("a replay rolls nothing back")

    def release(self, message_ids: Collection[int]) -> None:
        pass

    def put_back(self, messages: Sequence[Message]) -> dict[bytes, bytes]:
        return {}

    def report(self, event: Event) -> None:
        pass
