"""How a workflow ended, as the record that is stored and the event that is told."""

from __future__ import annotations

import logging

from rivetpy.host.record import WorkflowRecord, WorkflowStatus
from rivetpy.workflow.events import Event
from rivetpy.workflow.outcomes import Completed, Diverged, Failed


def ended(outcome: Completed | Failed | Diverged, rewound_at: int) -> tuple[WorkflowRecord, Event]:
    """The record and the event of an outcome; ``rewound_at`` is kept."""
    match outcome:
        case Completed(output):
            record = WorkflowRecord(WorkflowStatus.COMPLETED, output, rewound_at=rewound_at)
            event = Event("run_completed", "workflow completed")
        case Failed(failure, rollback):
            record = WorkflowRecord(
                WorkflowStatus.FAILED, failure=failure, rollback_failure=rollback, rewound_at=rewound_at
            )
            event = Event("run_failed", f"workflow failed: {failure}", logging.ERROR, failure=failure)
        case Diverged(error):
            failure = error.failure()
            record = WorkflowRecord(WorkflowStatus.DIVERGED, failure=failure, rewound_at=rewound_at)
            text = (
                f"workflow diverged at {error.location!r}: the code asks for {error.expected}, "
                f"the journal has {error.found}"
            )
            event = Event("run_diverged", text, logging.ERROR, error.location, failure)
    return record, event
