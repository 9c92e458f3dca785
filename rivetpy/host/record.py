"""How a workflow stands when no one runs it: the one row about it outside the journal."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import msgpack

from rivetpy.errors import StoreError
from rivetpy.workflow import failure as failures
from rivetpy.workflow.failure import Failure
from rivetpy.workflow.waits import Wait

VERSION = 1


class WorkflowStatus(enum.StrEnum):
    """Spec workflows 11."""

    PENDING = "pending"
    RUNNING = "running"
    SLEEPING = "sleeping"
    ROLLING_BACK = "rolling_back"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DIVERGED = "diverged"


#: No code of the workflow runs any more in these.
ENDED = frozenset({WorkflowStatus.COMPLETED, WorkflowStatus.FAILED, WorkflowStatus.CANCELLED})


@dataclass(frozen=True, slots=True)
class WorkflowRecord:
    """Status, result or failure, and what it waited for when it was put away."""

    status: WorkflowStatus = WorkflowStatus.PENDING
    output: bytes | None = None
    failure: Failure | None = None
    waits: tuple[Wait, ...] = ()
    #: Why a rollback handler failed after the workflow had.
    rollback_failure: Failure | None = None
    #: When it was last rewound (epoch ms; 0: never). Also says which rewind that was: no two have the same.
    rewound_at: int = 0

    def pack(self) -> bytes:
        """As stored."""
        waits = [
            [wait.reason, wait.location, wait.deadline, None if wait.queues is None else sorted(wait.queues)]
            for wait in self.waits
        ]
        packed: bytes = msgpack.packb(
            [
                VERSION,
                self.status,
                self.output,
                _packed(self.failure),
                waits,
                _packed(self.rollback_failure),
                self.rewound_at,
            ]
        )
        return packed


def unpack(data: bytes) -> WorkflowRecord:
    """The inverse of `WorkflowRecord.pack`. Raises `StoreError` ``newer_format``."""
    version, *rest = msgpack.unpackb(data)
    if version != VERSION:
        raise StoreError("newer_format", f"A workflow was written in format {version}. Upgrade rivetpy.")
    status, output, failure, waits, rollback_failure, rewound_at = rest
    return WorkflowRecord(
        WorkflowStatus(status),
        output,
        _unpacked(failure),
        tuple(
            Wait(reason, location, deadline, None if queues is None else frozenset(queues))
            for reason, location, deadline, queues in waits
        ),
        _unpacked(rollback_failure),
        rewound_at,
    )


def _packed(failure: Failure | None) -> failures.Packed | None:
    return None if failure is None else failures.pack(failure)


def _unpacked(packed: failures.Packed | None) -> Failure | None:
    return None if packed is None else failures.unpack(packed)
