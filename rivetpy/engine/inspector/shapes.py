"""What the inspector shows of an actor: its view as JSON, in the shapes of wire 9.2. Pure."""

from __future__ import annotations

from rivetpy import codec
from rivetpy.engine.inspector.journal import History, failure_json, lines_of, size_of
from rivetpy.errors import EncodeError
from rivetpy.host.statecell import revision
from rivetpy.host.view import ActorView, ConnectionView, WaitView, WorkflowView
from rivetpy.wire.jsonvalue import Json, JsonObject, Value, to_json
from rivetpy.workflow.duration import show


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
