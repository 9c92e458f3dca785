"""An actor's view from its stored rows alone: what a sleeping actor looks like, with or without an engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter

from rivetpy import codec
from rivetpy.codec import Value
from rivetpy.host.mailbox import unpack_message
from rivetpy.host.record import WorkflowRecord, unpack
from rivetpy.host.view import ActorView, WaitView, WorkflowView
from rivetpy.store import ActorRow, Pairs
from rivetpy.workflow import entries, layout
from rivetpy.workflow.entries import Entry, Kind
from rivetpy.workflow.journal import Journal
from rivetpy.workflow.newest import newest
from rivetpy.workflow.waits import Wait


def view_rows(
    row: ActorRow, rows: Sequence[tuple[bytes, bytes]], newest_entries: int | None = None
) -> ActorView:
    """The view of an actor nobody runs; with only the newest entries of its journal, if a number is given."""
    stored = dict(rows)
    recorded = [item for item in rows if item[0].startswith(layout.JOURNAL)]
    shown, left_out = _newest(recorded, newest_entries)
    journal = Journal(row.id, shown)
    record = unpack(stored[layout.WORKFLOW]) if layout.WORKFLOW in stored else None
    return ActorView(
        row,
        awake=False,
        state=codec.decode(stored[layout.STATE]) if layout.STATE in stored else None,
        queue=tuple(unpack_message(value) for key, value in rows if key.startswith(layout.MESSAGE)),
        workflow=None
        if record is None
        else workflow_view(record, record.status, record.waits, journal, left_out),
        has_state=layout.STATE in stored,
    )


def workflow_view(
    record: WorkflowRecord, status: str, waits: Iterable[Wait], journal: Iterable[Entry], left_out: int = 0
) -> WorkflowView:
    """The view of a workflow."""
    output: Value = None if record.output is None else codec.decode(record.output)
    return WorkflowView(
        str(status),
        tuple(map(_wait_view, waits)),
        output,
        record.failure,
        tuple(journal),
        record.rollback_failure,
        left_out,
    )


def _newest(rows: Pairs, count: int | None) -> tuple[Pairs, int]:
    """The rows of a journal's newest entries, which are not all unpacked for that, and how many others there are."""
    if count is None or len(rows) <= count:
        return rows, 0
    start = len(layout.JOURNAL)
    packed = [entries.peek(key[start:].decode(), data) for key, data in rows]
    lines = sorted(each for each in packed if each.kind != Kind.ITERATION)
    chosen = newest(lines, count, attrgetter("location"), attrgetter("finished"))
    return [(layout.entry_key(each.location), each.data) for each in chosen], len(lines) - len(chosen)


def _wait_view(wait: Wait) -> WaitView:
    queues = None if wait.queues is None else tuple(sorted(wait.queues))
    return WaitView(wait.reason, wait.location, wait.deadline, queues)
