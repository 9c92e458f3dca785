"""An actor's view from its stored rows alone: what a sleeping actor looks like, with or without an engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rivetpy import codec
from rivetpy.codec import Value
from rivetpy.host.mailbox import unpack_message
from rivetpy.host.record import WorkflowRecord, unpack
from rivetpy.host.view import ActorView, WaitView, WorkflowView
from rivetpy.store import ActorRow
from rivetpy.workflow import layout
from rivetpy.workflow.entries import Entry
from rivetpy.workflow.journal import Journal
from rivetpy.workflow.waits import Wait


def view_rows(row: ActorRow, rows: Sequence[tuple[bytes, bytes]]) -> ActorView:
    """The view of an actor nobody runs."""
    stored = dict(rows)
    journal = Journal(row.id, [item for item in rows if item[0].startswith(layout.JOURNAL)])
    record = unpack(stored[layout.WORKFLOW]) if layout.WORKFLOW in stored else None
    return ActorView(
        row,
        awake=False,
        state=codec.decode(stored[layout.STATE]) if layout.STATE in stored else None,
        queue=tuple(unpack_message(value) for key, value in rows if key.startswith(layout.MESSAGE)),
        workflow=None if record is None else workflow_view(record, record.status, record.waits, journal),
        has_state=layout.STATE in stored,
    )


def workflow_view(
    record: WorkflowRecord, status: str, waits: Iterable[Wait], entries: Iterable[Entry]
) -> WorkflowView:
    """The view of a workflow."""
    output: Value = None if record.output is None else codec.decode(record.output)
    return WorkflowView(
        str(status),
        tuple(map(_wait_view, waits)),
        output,
        record.failure,
        tuple(entries),
        record.rollback_failure,
    )


def _wait_view(wait: Wait) -> WaitView:
    queues = None if wait.queues is None else tuple(sorted(wait.queues))
    return WaitView(wait.reason, wait.location, wait.deadline, queues)
