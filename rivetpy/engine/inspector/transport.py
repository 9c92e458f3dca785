"""A workflow's history for the inspector's WebSocket: its journal in the shapes of the transport (wire 9.3)."""

from __future__ import annotations

import asyncio

from rivetpy import codec
from rivetpy.engine.inspector.history import SLICE
from rivetpy.engine.inspector.journal import Iteration, Names, entry_id_of, lines_of
from rivetpy.host.view import ActorView
from rivetpy.wire import cborvalue, transport
from rivetpy.workflow.entries import (
    BlockEntry,
    Branch,
    CheckpointEntry,
    Entry,
    JoinEntry,
    LoopEntry,
    MessageEntry,
    RaceEntry,
    SleepEntry,
    StepEntry,
    VersionEntry,
)
from rivetpy.workflow.failure import Failure

_NOTHING = cborvalue.dumps(None)


async def history_bytes(view: ActorView) -> bytes | None:
    """The history, made a slice at a time; None for an actor without a workflow."""
    if view.workflow is None:
        return None
    names, out = Names(), transport.HistoryWriter()
    for number, entry in enumerate(lines_of(view.workflow)):
        if number and number % SLICE == 0:
            await asyncio.sleep(0)
        out.add(_entry(view.row.id, names, entry), _metadata(entry))
    return out.written(names.names)


def _entry(actor_id: str, names: Names, entry: Entry) -> transport.Entry:
    location: list[int | transport.Iteration] = [
        transport.Iteration(part.loop, part.iteration) if isinstance(part, Iteration) else part
        for part in names.location(entry.location)
    ]
    return transport.Entry(entry_id_of(actor_id, entry), location, _kind(entry))


def _kind(entry: Entry) -> transport.Kind:
    match entry:
        case StepEntry() | BlockEntry():  # what a block came to is told as a step is
            return transport.Step(_value(entry.output), _text(entry.failure))
        case LoopEntry():
            return transport.Loop(_value(entry.state) or _NOTHING, entry.iteration, _value(entry.output))
        case SleepEntry():
            return transport.Sleep(entry.deadline, transport.SLEEP_STATUS.index(entry.status))
        case MessageEntry():
            return _message(entry)
        case JoinEntry():
            return transport.Join(_branches(entry.branches))
        case RaceEntry():
            return transport.Race(entry.winner, _branches(entry.branches))
        case VersionEntry():
            return transport.VersionCheck(entry.resolved, entry.latest)
        case CheckpointEntry():
            return transport.Checkpoint(entry.name)
        case _:
            raise TypeError(f"no form for {entry!r}")


def _message(entry: MessageEntry) -> transport.Message:
    bodies = [codec.decode(message.body) for message in entry.messages]
    name = entry.messages[0].queue if entry.messages else ",".join(entry.queues or ())
    return transport.Message(name, cborvalue.dumps(bodies[0] if len(bodies) == 1 else bodies or None))


def _branches(branches: dict[str, Branch]) -> dict[str, transport.Branch]:
    return {
        name: transport.Branch(
            transport.BRANCH_STATUS.index(branch.status), _value(branch.output), _text(branch.failure)
        )
        for name, branch in branches.items()
    }


def _metadata(entry: Entry) -> transport.Metadata:
    step = entry if isinstance(entry, StepEntry) else None
    failure = entry.failure if isinstance(entry, StepEntry | BlockEntry) else None
    status = entry.status if entry.status in transport.ENTRY_STATUS else "completed"
    return transport.Metadata(
        transport.ENTRY_STATUS.index(status),
        _text(failure),
        step.attempts if step else 1,
        (step.started_at if step else None) or entry.created_at,
        entry.created_at,
        entry.completed_at,
        step.rolled_back_at if step else None,
        _text(step.rollback_failure) if step else None,
    )


def _value(data: bytes | None) -> bytes | None:
    return None if data is None else cborvalue.dumps(codec.decode(data))


def _text(failure: Failure | None) -> str | None:
    return None if failure is None else str(failure)
