"""What the inspector's WebSocket is answered and told, made of what the host shows of an actor (wire 9.3)."""

from __future__ import annotations

from rivetpy import codec
from rivetpy.codec import Value
from rivetpy.engine.inspector.database import ActorDatabase
from rivetpy.engine.inspector.routes import has_database, max_queue_size, rpcs_of
from rivetpy.engine.inspector.shapes import connection_json
from rivetpy.engine.inspector.transport import history_bytes
from rivetpy.engine.inspector.workflow import WorkflowRoutes
from rivetpy.errors import RivetError
from rivetpy.host import Host
from rivetpy.host.planned import PlannedView, RunView
from rivetpy.host.view import ActorView
from rivetpy.host.watching import Change
from rivetpy.store import ActorRow
from rivetpy.wire import cborvalue, inspected, inspecting
from rivetpy.wire.bodies import args_list
from rivetpy.wire.tags import JsonError

#: Messages of a queue, and runs of a schedule, at most.
PAGE = 1000


class Answers:
    """Answers about one actor."""

    def __init__(self, host: Host, row: ActorRow) -> None:
        self._host = host
        self._row = row
        self._database = ActorDatabase(host, row.id)
        self._workflow = WorkflowRoutes(host)

    async def init(self) -> inspected.Init:
        """All there is to see."""
        view = await self.view()
        return inspected.Init(
            connections=_connections(view),
            state=_state(view),
            is_state_enabled=view.has_state,
            rpcs=rpcs_of(self._host, self._row),
            is_database_enabled=has_database(self._host, self._row),
            queue_size=len(view.queue),
            workflow_history=await history_bytes(view),
            is_workflow_enabled=view.workflow is not None,
            schedules=await self._schedules(),
        )

    async def update(self, change: Change, view: ActorView) -> inspected.Update | None:
        """What to tell after a change, of the actor as it is now; None when there is nothing of the kind."""
        match change:
            case Change.SCHEDULES:
                return inspected.SchedulesUpdated(await self._schedules())
            case Change.STATE:
                state = _state(view)
                return None if state is None else inspected.StateUpdated(state)
            case Change.QUEUE:
                return inspected.QueueUpdated(len(view.queue))
            case Change.CONNECTIONS:
                return inspected.ConnectionsUpdated(_connections(view))
            case Change.HISTORY:
                history = await history_bytes(view)
                return None if history is None else inspected.WorkflowHistoryUpdated(history)

    async def answer(self, asked: inspecting.ToActor) -> inspected.Response | None:
        """The answer to a request; None when all there is to say is an update."""
        match asked:
            case inspecting.PatchState(state):
                await self._host.set_state(self._row.id, cborvalue.loads(state))
                return None
            case inspecting.StateRequest(id):
                view = await self.view()
                return inspected.StateResponse(id, _state(view), view.has_state)
            case inspecting.ConnectionsRequest(id):
                return inspected.ConnectionsResponse(id, _connections(await self.view()))
            case inspecting.ActionRequest(id, name, args):
                output = await self._host.call(self._row.id, name, args_list(cborvalue.loads(args)))
                return inspected.ActionResponse(id, cborvalue.dumps(output))
            case inspecting.RpcsListRequest(id):
                return inspected.RpcsListResponse(id, rpcs_of(self._host, self._row))
            case inspecting.TraceQueryRequest(id):
                return inspected.TraceQueryResponse(id, b"")
            case inspecting.QueueRequest(id, limit):
                return inspected.QueueResponse(id, self._queue(await self.view(), min(limit, PAGE)))
            case inspecting.EventsRequest() | inspecting.ClearEventsRequest():
                raise RivetError("actor", "invalid_request", "Events are not recorded any more.")
            case _:
                return await self._more(asked)

    async def _more(self, asked: inspecting.ToActor) -> inspected.Response:
        """The answer to a request of a later version."""
        match asked:
            case inspecting.WorkflowHistoryRequest(id):
                view = await self.view()
                return inspected.WorkflowHistoryResponse(
                    id, await history_bytes(view), view.workflow is not None
                )
            case inspecting.WorkflowReplayRequest(id, entry_id):
                view = await self._workflow.replay(self._row.id, entry_id)
                return inspected.WorkflowReplayResponse(id, await history_bytes(view), True)
            case inspecting.DatabaseSchemaRequest(id):
                return inspected.DatabaseSchemaResponse(id, cborvalue.dumps(await self._database.schema()))
            case inspecting.DatabaseTableRowsRequest(id, table, limit, offset):
                rows = await self._database.rows(table, limit, offset)
                return inspected.DatabaseTableRowsResponse(id, cborvalue.dumps(rows))
            case inspecting.SchedulesRequest(id):
                return inspected.SchedulesResponse(id, await self._schedules())
            case inspecting.ScheduleHistoryRequest(id, schedule, limit):
                return inspected.ScheduleHistoryResponse(
                    id, schedule, await self._runs(schedule, min(limit, PAGE))
                )
            case inspecting.ScheduleDeleteRequest(id, schedule, kind):
                if kind not in {"at", "cron", "every"}:
                    raise JsonError(f"A schedule is at, cron or every, not {kind!r:.20}.")
                deleted = await self._host.unplan(self._row.id, kind, schedule)
                return inspected.ScheduleDeleteResponse(id, schedule, deleted)
            case _:
                raise TypeError(f"no answer to {asked!r}")

    async def view(self) -> ActorView:
        """The actor as it is now. Raises RivetError ``actor.not_found``."""
        return await self._host.view(self._row.id)

    def _queue(self, view: ActorView, limit: int) -> inspected.QueueStatus:
        messages = [
            inspected.QueueMessage(message.id, message.queue, message.created_at)
            for message in view.queue[:limit]
        ]
        most = max_queue_size(self._host, self._row) or 0
        return inspected.QueueStatus(len(view.queue), most, messages, len(view.queue) > limit)

    async def _schedules(self) -> list[inspected.Schedule]:
        return [_schedule(each) for each in await self._host.planned(self._row.id)]

    async def _runs(self, schedule: str, limit: int) -> list[inspected.ScheduleFire]:
        """The calls a job made, newest first."""
        for each in await self._host.planned(self._row.id):
            if each.id == schedule and each.kind != "at":
                return [_fire(each.action, run) for run in each.runs[::-1][:limit]]
        return []


def _state(view: ActorView) -> bytes | None:
    return cborvalue.dumps(view.state) if view.has_state else None


def _connections(view: ActorView) -> list[inspected.Connection]:
    return [
        inspected.Connection(each.id, cborvalue.dumps(connection_json(each))) for each in view.connections
    ]


def _schedule(planned: PlannedView) -> inspected.Schedule:
    return inspected.Schedule(
        planned.id,
        None if planned.kind == "at" else planned.id,
        planned.kind,
        planned.action,
        _values(planned.args),
        planned.next_at,
        planned.runs[-1].started_at if planned.runs else None,
        planned.expression,
        planned.timezone,
        planned.interval,
        planned.max_history,
    )


def _fire(action: str, run: RunView) -> inspected.ScheduleFire:
    error = None if run.error is None else inspected.ScheduleError("user", "failed", run.error)
    return inspected.ScheduleFire(
        action, run.scheduled_at, run.started_at, run.finished_at, "ok" if error is None else "error", error
    )


def _values(encoded: bytes) -> bytes:
    decoded: Value = codec.decode(encoded)
    return cborvalue.dumps(decoded)
