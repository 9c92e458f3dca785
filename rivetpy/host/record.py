"""How a workflow stands when no one runs it: the one row about it outside the journal."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import msgpack

from rivetpy.errors import StoreError
from rivetpy.workflow import failure as failures
from rivetpy.workflow.failure import Failure
from rivetpy.workflow.run import Wait

VERSION = 1


class WorkflowStatus(enum.StrEnum):
    """Spec workflows 11."""

    PENDING = "pending"
    RUNNING = "running"
    SLEEPING = "sleeping"
    COMPLETED = "completed"
    FAILED = "failed"
    DIVERGED = "diverged"


#: No code of the workflow runs any more in these.
ENDED = frozenset({WorkflowStatus.COMPLETED, WorkflowStatus.FAILED})


@dataclass(frozen=True, slots=True)
class WorkflowRecord:
    """Status, result or failure, and what it waited for when it was put away."""

    status: WorkflowStatus = WorkflowStatus.PENDING
    output: bytes | None = None
    failure: Failure | None = None
    waits: tuple[Wait, ...] = ()

    def pack(self) -> bytes:
        """As stored."""
        waits = [
            [wait.reason, wait.location, wait.deadline, None if wait.queues is None else sorted(wait.queues)]
            for wait in self.waits
        ]
        failure = None if self.failure is None else failures.pack(self.failure)
        packed: bytes = msgpack.packb([VERSION, self.status, self.output, failure, waits])
        return packed


def unpack(data: bytes) -> WorkflowRecord:
    """The inverse of `WorkflowRecord.pack`. Raises `StoreError` ``newer_format``."""
    version, *rest = msgpack.unpackb(data)
    if version != VERSION:
        raise StoreError("newer_format", f"A workflow was written in format {version}. Upgrade rivetpy.")
    status, output, failure, waits = rest
    return WorkflowRecord(
        WorkflowStatus(status),
        output,
        None if failure is None else failures.unpack(failure),
        tuple(
            Wait(reason, location, deadline, None if queues is None else frozenset(queues))
            for reason, location, deadline, queues in waits
        ),
    )
