"""A workflow's journal, entry by entry, in the shapes of wire 9.2. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from rivetpy import codec
from rivetpy.host.view import WorkflowView
from rivetpy.wire.jsonvalue import Json, JsonObject, to_json
from rivetpy.workflow.entries import (
    BlockEntry,
    Branch,
    CheckpointEntry,
    Entry,
    IterationEntry,
    JoinEntry,
    LoopEntry,
    Message,
    MessageEntry,
    RaceEntry,
    SleepEntry,
    StepEntry,
    VersionEntry,
)
from rivetpy.workflow.failure import Failure
from rivetpy.workflow.location import name_of
from rivetpy.workflow.newest import newest


def lines_of(workflow: WorkflowView) -> list[Entry]:
    """The entries a history shows: all but those that only say where a loop came by."""
    return [entry for entry in workflow.entries if not isinstance(entry, IterationEntry)]


def size_of(workflow: WorkflowView) -> int:
    """How many entries a history has, also those left out."""
    return len(lines_of(workflow)) + workflow.left_out


def choose(entries: Sequence[Entry], limit: int | None, since: int | None) -> Sequence[Entry]:
    """The entries asked for, in order: those that may have changed since a time, of the newest so many.

    What the newest are in and what is not finished are always among them.
    """
    chosen = newest(entries, limit, attrgetter("location"), attrgetter("finished"))
    return chosen if since is None else [entry for entry in chosen if _may_have_changed(entry, since)]


def _may_have_changed(entry: Entry, since: int) -> bool:
    """Nothing says when a message was answered, or an open entry written: those are always among them."""
    if not entry.finished or (isinstance(entry, MessageEntry) and entry.completable):
        return True
    last = entry.rolled_back_at if isinstance(entry, StepEntry) else None
    return max(entry.created_at, entry.completed_at or 0, last or 0) >= since


class History:
    """A journal in the shapes of wire 9.2, entry by entry."""

    def __init__(self, actor_id: str) -> None:
        self.entries: list[Json] = []
        self.metadata: JsonObject = {}
        self._actor_id = actor_id
        self._names = Names()

    @property
    def names(self) -> list[str]:
        """Each name once; locations are indexes into them."""
        return self._names.names

    def add(self, entry: Entry) -> None:
        """The next entry."""
        entry_id = entry_id_of(self._actor_id, entry)
        location: list[Json] = [
            {"tag": "WorkflowNameIndex", "val": place}
            if isinstance(place, int)
            else {
                "tag": "WorkflowLoopIterationMarker",
                "val": {"loop": place.loop, "iteration": place.iteration},
            }
            for place in self._names.location(entry.location)
        ]
        self.entries.append({"id": entry_id, "location": location, "kind": _kind(entry)})
        self.metadata[entry_id] = _metadata(entry)


def entry_id_of(actor_id: str, entry: Entry) -> str:
    """The id of an entry; it stays the same for as long as the entry's location does."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{actor_id}/{entry.location}"))


def failure_json(failure: Failure | None) -> JsonObject | None:
    """A recorded failure with its causes."""
    if failure is None:
        return None
    return {
        "type": failure.type,
        "module": failure.module,
        "message": failure.message,
        "group": failure.group,
        "code": failure.code,
        "metadata": to_json(failure.metadata),
        "traceback": failure.traceback,
        "location": failure.location,
        "causes": [failure_json(cause) for cause in failure.causes],
    }


@dataclass(frozen=True, slots=True)
class Iteration:
    """A part of a location: an iteration of a loop, whose name is given by its index."""

    loop: int
    iteration: int


class Names:
    """The name registry: each name once, locations as indexes into it."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._index: dict[str, int] = {}

    def location(self, location: str) -> list[int | Iteration]:
        """The parts of a location."""
        parts: list[int | Iteration] = []
        last = 0
        for part in location.split("/"):
            if part[:1] == "~":
                parts.append(Iteration(last, int(part[1:])))
            else:
                last = self._of(name_of(part))
                parts.append(last)
        return parts

    def _of(self, name: str) -> int:
        index = self._index.setdefault(name, len(self.names))
        if index == len(self.names):
            self.names.append(name)
        return index


def _kind(entry: Entry) -> JsonObject:
    match entry:
        case StepEntry():
            return _tagged("Step", output=_value(entry.output), error=_text(entry.failure))
        case LoopEntry():
            return _tagged(
                "Loop", state=_value(entry.state), iteration=entry.iteration, output=_value(entry.output)
            )
        case SleepEntry():
            return _tagged("Sleep", deadline=entry.deadline, state=entry.status.upper())
        case MessageEntry():
            return _message_kind(entry)
        case JoinEntry():
            return _tagged("Join", branches=_branches(entry.branches))
        case RaceEntry():
            return _tagged("Race", winner=entry.winner, branches=_branches(entry.branches))
        case BlockEntry():
            return _tagged(
                "Block", output=_value(entry.output), error=_text(entry.failure), source=entry.source
            )
        case VersionEntry():
            return _tagged("VersionCheck", resolved=entry.resolved, latest=entry.latest)
        case CheckpointEntry():
            return _tagged("RollbackCheckpoint", name=entry.name)
        case _:
            raise TypeError(f"no JSON form for {entry!r}")


def _branches(branches: dict[str, Branch]) -> JsonObject:
    return {
        name: {
            "status": branch.status.upper(),
            "output": _value(branch.output),
            "error": _text(branch.failure),
            "failure": failure_json(branch.failure),
        }
        for name, branch in branches.items()
    }


def _message_kind(entry: MessageEntry) -> JsonObject:
    """One entry for the whole wait: the message, a list of several, or null while there is none."""
    messages: list[Json] = [
        _message(message, not entry.completable or message.id in entry.completed)
        for message in entry.messages
    ]
    name = entry.messages[0].queue if entry.messages else ",".join(entry.queues or ())
    data = messages[0] if len(messages) == 1 else messages or None
    return _tagged("Message", name=name, messageData=data, queues=entry.queues, deadline=entry.deadline)


def _message(message: Message, completed: bool) -> JsonObject:
    return {
        "__rivetWorkflowQueueMessage": 1,
        "id": str(message.id),
        "name": message.queue,
        "body": _value(message.body),
        "createdAt": message.created_at,
        "completed": completed,
    }


def _metadata(entry: Entry) -> JsonObject:
    step = entry if isinstance(entry, StepEntry) else None
    failure = entry.failure if isinstance(entry, StepEntry | BlockEntry) else None
    return {
        "status": entry.status.upper(),
        "error": _text(failure),
        "attempts": step.attempts if step else 1,
        "lastAttemptAt": step.started_at if step else entry.created_at,
        "createdAt": entry.created_at,
        "completedAt": entry.completed_at,
        "rollbackCompletedAt": step.rolled_back_at if step else None,
        "rollbackError": _text(step.rollback_failure) if step else None,
        "seq": entry.seq,
        "failure": failure_json(failure),
        "rollbackFailure": failure_json(step.rollback_failure) if step else None,
        "retryAt": step.retry_at if step else None,
        "reason": step.reason if step else None,
    }


def _tagged(kind: str, **val: Json) -> JsonObject:
    return {"tag": f"Workflow{kind}Entry", "val": val}


def _value(data: bytes | None) -> Json:
    return None if data is None else to_json(codec.decode(data))


def _text(failure: Failure | None) -> str | None:
    return None if failure is None else str(failure)
