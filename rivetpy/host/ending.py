"""How a workflow ended, as the record that is stored and the event that is told."""

from __future__ import annotations

import logging

from rivetpy.host.record import WorkflowRecord, WorkflowStatus
from rivetpy.workflow.events import Event
from rivetpy.workflow.outcomes import Completed, Diverged, Failed


def ended(outcome: Completed | Failed | Diverged, rewinds: int) -> tuple[WorkflowRecord, Event]:
    """The record and the event of an outcome; ``rewinds``: how often it was rewound before."""
    match outcome:
        case Completed(output):
            record = WorkflowRecord(WorkflowStatus.COMPLETED, output, rewinds=rewinds)
            event = Event("run_completed", "workflow completed")
        case Failed(failure, rollback):
            record = WorkflowRecord(
                WorkflowStatus.FAILED, failure=failure, rollback_failure=rollback, rewinds=rewinds
            )
            event = Event("run_failed", f"workflow failed: {failure}", logging.ERROR, failure=failure)
        case Diverged(error):
            failure = error.failure()
            record = WorkflowRecord(WorkflowStatus.DIVERGED, failure=failure, rewinds=rewinds)
            event = Event("run_diverged", str(error), logging.ERROR, error.location, failure)
    return record, event
