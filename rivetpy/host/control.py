"""Going back, giving another chance, ending: what a person may do to a workflow, as changes of its rows.

Pure (spec workflows 12): each takes the rows of an actor nobody runs, and returns the batch that changes them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgpack

from rivetpy.errors import RivetError
from rivetpy.host.due import next_due
from rivetpy.host.mailbox import pack_message
from rivetpy.host.record import ENDED, WorkflowRecord, WorkflowStatus, unpack
from rivetpy.store import ActorRow, Batch
from rivetpy.workflow import layout
from rivetpy.workflow import rewind as rewinding
from rivetpy.workflow.entries import Message, MessageEntry, Status, StepEntry
from rivetpy.workflow.journal import Journal

VERSION = 1
Rows = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Rewind:
    """What a rewind removed, or would remove: locations in the order they were begun."""

    removed: tuple[str, ...]
    #: The steps among them that had completed and will run again.
    runs_again: tuple[str, ...]
    #: Messages that go back into their queue.
    returned_messages: int


def rewind(row: ActorRow, rows: Rows, place: str | None, now: int) -> tuple[Batch, Rewind]:
    """Remove an entry and every later one (None: all), and keep what was there for `undo`.

    Raises RivetError ``workflow.not_enabled``, ``workflow.entry_not_found``, ``workflow.rolled_back``,
    ``workflow.ended`` for a cancelled one.
    """
    record, journal = _read(row, rows)
    _refuse_cancelled(row, record)
    plan = rewinding.plan(journal, None if place is None else rewinding.find(journal, place))
    open_rows = {
        layout.message_key(message.id) for message in plan.messages
    }  # those of them that are rows already
    kept = [
        (key, value)
        for key, value in rows
        if key.startswith(layout.JOURNAL) or key == layout.WORKFLOW or key in open_rows
    ]
    rewinding.rewind(journal, plan, now)
    batch = journal.take()
    status = WorkflowStatus.RUNNING if any(True for _ in journal) else WorkflowStatus.PENDING
    batch.puts[layout.WORKFLOW] = WorkflowRecord(status, rewound_at=max(now, record.rewound_at + 1)).pack()
    batch.puts[layout.UNDO] = msgpack.packb([VERSION, kept, [message.id for message in plan.messages]])
    _put_back(batch, plan.messages)
    batch.row = _due(row, now)
    steps = [e for e in plan.removed if isinstance(e, StepEntry) and e.status is Status.COMPLETED]
    return batch, Rewind(
        tuple(entry.location for entry in plan.removed),
        tuple(entry.location for entry in steps),
        len(plan.messages),
    )


def undo(row: ActorRow, rows: Rows, now: int) -> Batch:
    """Bring back the journal from before the last rewind; what was received since then waits again.

    Raises RivetError ``workflow.nothing_to_undo``.
    """
    stored = dict(rows)
    if layout.UNDO not in stored:
        raise RivetError(
            "workflow", "nothing_to_undo", f"No rewind of {row.name!r} is there to be undone.", status=409
        )
    _refuse_cancelled(row, unpack(stored[layout.WORKFLOW]))
    _, kept, messages = msgpack.unpackb(stored[layout.UNDO])
    batch = Batch(row.id, prefixes=[layout.JOURNAL], deletes=[layout.UNDO], puts=dict(kept))
    batch.deletes += [layout.message_key(message) for message in messages]
    known = {message.id for message in _received(row, kept)}
    _put_back(batch, [message for message in _received(row, rows) if message.id not in known])
    batch.row = _due(row, now)
    return batch


def recover(row: ActorRow, rows: Rows, now: int) -> Batch:
    """Reset what failed the workflow; a rollback that failed goes on instead.

    Raises RivetError ``workflow.not_failed``, ``workflow.rolled_back``.
    """
    record, journal = _read(row, rows)
    failure = record.failure
    if record.status is not WorkflowStatus.FAILED or failure is None:
        raise RivetError(
            "workflow",
            "not_failed",
            f"The workflow of {row.name!r} is {record.status}, not failed.",
            status=409,
        )
    if record.rollback_failure is not None:
        batch = Batch(row.id)
        record = dataclasses.replace(record, status=WorkflowStatus.ROLLING_BACK, rollback_failure=None)
    elif any(isinstance(entry, StepEntry) and entry.rolled_back_at is not None for entry in journal):
        raise RivetError(
            "workflow",
            "rolled_back",
            f"The workflow of {row.name!r} was rolled back; what it had done is undone. Rewind it to run it anew.",
            status=409,
        )
    else:
        messages = rewinding.recover(journal, failure)
        batch = journal.take()
        _put_back(batch, messages)
        record = WorkflowRecord(WorkflowStatus.RUNNING, rewound_at=record.rewound_at)
    batch.puts[layout.WORKFLOW] = record.pack()
    batch.row = _due(row, now)
    return batch


def cancel(row: ActorRow, rows: Rows) -> Batch:
    """End the workflow for good: nothing of it runs or wakes again. Raises RivetError ``workflow.ended``."""
    record, _ = _read(row, rows)
    if record.status in ENDED:
        raise RivetError(
            "workflow", "ended", f"The workflow of {row.name!r} is {record.status} already.", status=409
        )
    cancelled = WorkflowRecord(WorkflowStatus.CANCELLED, rewound_at=record.rewound_at)
    return Batch(
        row.id,
        puts={layout.WORKFLOW: cancelled.pack()},
        row=dataclasses.replace(row, awake=False, alarm=next_due(rows)),
    )


def in_flight(name: str) -> RivetError:
    """The refusal while a step of the actor is running."""
    return RivetError(
        "workflow",
        "in_flight",
        f"A step of {name!r} is running. Wait for it, or cancel the workflow.",
        status=409,
    )


def _refuse_cancelled(row: ActorRow, record: WorkflowRecord) -> None:
    if record.status is WorkflowStatus.CANCELLED:
        raise RivetError(
            "workflow", "ended", f"The workflow of {row.name!r} was cancelled, which is for good.", status=409
        )


def _put_back(batch: Batch, messages: Iterable[Message]) -> None:
    """What removed queue waits had received goes back into the queue."""
    for message in messages:
        batch.puts[layout.message_key(message.id)] = pack_message(message)


def _received(row: ActorRow, rows: Rows) -> list[Message]:
    """What the queue waits of a journal received."""
    return [m for entry in _journal(row, rows) if isinstance(entry, MessageEntry) for m in entry.messages]


def _journal(row: ActorRow, rows: Rows) -> Journal:
    return Journal(row.id, [(key, value) for key, value in rows if key.startswith(layout.JOURNAL)])


def _read(row: ActorRow, rows: Rows) -> tuple[WorkflowRecord, Journal]:
    stored = dict(rows)
    if layout.WORKFLOW not in stored:
        raise RivetError("workflow", "not_enabled", f"Actor {row.name!r} has no workflow.", status=400)
    return unpack(stored[layout.WORKFLOW]), _journal(row, rows)


def _due(row: ActorRow, now: int) -> ActorRow:
    """The actor asleep, and to be woken at once."""
    return dataclasses.replace(row, awake=False, alarm=now)
