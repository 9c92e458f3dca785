"""What the inspector shows of an actor: its view as JSON, in the shapes of wire 9.2. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from rivetpy import codec
from rivetpy.errors import EncodeError
from rivetpy.host.statecell import revision
from rivetpy.host.view import ActorView, ConnectionView, WaitView, WorkflowView
from rivetpy.wire.jsonvalue import Json, JsonObject, Value, to_json
from rivetpy.workflow.duration import show
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


def history_json(view: ActorView) -> JsonObject:
    """The workflow's journal, in order; all null for an actor without a workflow."""
    if view.workflow is None:
        return {"history": None, **standing_json(view)}
    history = History(view.row.id)
    for entry in lines_of(view.workflow):
        history.add(entry)
    tree: JsonObject = {
        "nameRegistry": history.names,
        "entries": history.entries,
        "entryMetadata": history.metadata,
    }
    return {"history": tree, **standing_json(view)}


def standing_json(view: ActorView) -> JsonObject:
    """How an actor's workflow stands, without its journal."""
    workflow = view.workflow
    return {
        "workflowState": workflow.status if workflow else None,
        "isWorkflowEnabled": workflow is not None,
        "workflow": workflow_json(workflow) if workflow else None,
    }


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


def workflow_json(workflow: WorkflowView) -> JsonObject:
    """A workflow without its journal: status, what it waits for, how it ended."""
    return {
        "status": workflow.status,
        "waits": [
            {
                "reason": wait.reason,
                "location": wait.location,
                "deadline": wait.deadline,
                "queues": None if wait.queues is None else list(wait.queues),
            }
            for wait in workflow.waits
        ],
        "error": failure_json(workflow.failure),
        "rollbackError": failure_json(workflow.rollback_failure),
        "output": to_json(workflow.output),
    }


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


def state_json(view: ActorView) -> JsonObject:
    """The actor's state; its revision goes back with a change of it, so that none is lost."""
    return {
        "state": to_json(view.state),
        "isStateEnabled": view.has_state,
        "revision": revision(view.state),
    }


def connections_json(view: ActorView) -> JsonObject:
    """Who is connected."""
    return {
        "connections": [
            {"type": None, "id": each.id, "details": connection_json(each)} for each in view.connections
        ]
    }


def connection_json(connection: ConnectionView) -> JsonObject:
    """What there is to say about a connection."""
    return {
        "type": None,
        "params": _shown(connection.params),
        "stateEnabled": True,
        "state": _shown(connection.state),
        "subscriptions": connection.subscriptions,
        "isHibernatable": connection.lasting,
    }


def _shown(value: Value) -> Json:
    """What an actor keeps about a connection is never stored, so it may be anything."""
    try:
        return to_json(value)
    except EncodeError:
        return f"{value!r:.200}"


def queue_json(view: ActorView, limit: int | None = None, max_size: int | None = None) -> JsonObject:
    """The waiting messages, oldest first, at most ``limit`` of them; ``max_size`` is how many there may be."""
    return {
        "size": len(view.queue),
        "maxSize": max_size,
        "truncated": limit is not None and len(view.queue) > limit,
        "messages": [
            {
                "id": message.id,
                "name": message.queue,
                "createdAtMs": message.created_at,
                "body": to_json(codec.decode(message.body)),
            }
            for message in view.queue[:limit]
        ],
    }


def summary_json(view: ActorView) -> JsonObject:
    """One line about an actor, for listings."""
    workflow = view.workflow
    waits = workflow.waits if workflow else ()
    deadlines = [wait.deadline for wait in waits if wait.deadline is not None]
    if view.row.alarm is not None:
        deadlines.append(view.row.alarm)
    return {
        "status": "destroyed" if view.row.destroyed_at is not None else "awake" if view.awake else "sleeping",
        "workflowStatus": workflow.status if workflow else None,
        "waitingFor": [_wait_text(wait) for wait in waits],
        "queueSize": len(view.queue),
        "historySize": size_of(workflow) if workflow else 0,
        "nextWakeAt": min(deadlines, default=None),
    }


def _wait_text(wait: WaitView) -> str:
    until = "" if wait.deadline is None else f" until {show(wait.deadline)}"
    if wait.reason == "message":
        queues = "any queue" if wait.queues is None else ", ".join(wait.queues)
        return f"message on {queues}{until}"
    return f"{wait.reason} {wait.location}{until}"


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
