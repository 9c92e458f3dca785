"""What an actor answers its inspector over the WebSocket, and tells it by itself (wire 9.3). Values are CBOR."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from rivetpy.wire.forms import Data, Flag, Messages, Text, Uint, Versions, without


@dataclass(frozen=True, slots=True)
class Connection:
    id: Text
    details: Data


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab of the inspector's page that is not as usual."""

    id: Text
    label: Text | None
    icon: Text | None
    hidden: Flag


@dataclass(frozen=True, slots=True)
class Schedule:
    """A call to come (``at``), or one that comes again (``cron``, ``every``). Times are epoch ms."""

    id: Text
    name: Text | None
    kind: Text
    action: Text
    args: Data
    next_run_at: Uint
    last_run_at: Uint | None = None
    expression: Text | None = None
    timezone: Text | None = None
    interval_ms: Uint | None = None
    max_history: Uint | None = None


@dataclass(frozen=True, slots=True)
class ScheduleError:
    group: Text
    code: Text
    message: Text
    metadata: Data | None = None


@dataclass(frozen=True, slots=True)
class ScheduleFire:
    """One call that was made; ``result`` is ok or error."""

    action: Text
    scheduled_at: Uint
    fired_at: Uint
    finished_at: Uint | None
    result: Text
    error: ScheduleError | None = None


@dataclass(frozen=True, slots=True)
class QueueMessage:
    id: Uint
    name: Text
    created_at_ms: Uint


@dataclass(frozen=True, slots=True)
class QueueStatus:
    size: Uint
    max_size: Uint
    messages: list[QueueMessage]
    truncated: Flag


@dataclass(frozen=True, slots=True, kw_only=True)
class Init:
    """What there is when the inspector connects."""

    connections: list[Connection]
    events: Annotated[list[Text], Versions(last=1)] = field(default_factory=list)
    state: Data | None
    is_state_enabled: Flag
    rpcs: list[Text]
    is_database_enabled: Flag
    queue_size: Annotated[Uint, Versions(2)] = 0
    workflow_history: Annotated[Data | None, Versions(2)] = None
    is_workflow_enabled: Annotated[Flag, Versions(2)] = False
    tab_config: Annotated[list[Tab], Versions(5)] = field(default_factory=list)
    schedules: Annotated[list[Schedule], Versions(6)] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StateResponse:
    rid: Uint
    state: Data | None
    is_state_enabled: Flag


@dataclass(frozen=True, slots=True)
class ConnectionsResponse:
    rid: Uint
    connections: list[Connection]


@dataclass(frozen=True, slots=True)
class EventsResponse:
    """Of the first version only; never sent."""

    rid: Uint
    events: list[Text]


@dataclass(frozen=True, slots=True)
class ActionResponse:
    rid: Uint
    output: Data


@dataclass(frozen=True, slots=True)
class ConnectionsUpdated:
    connections: list[Connection]


@dataclass(frozen=True, slots=True)
class EventsUpdated:
    """Of the first version only; never sent."""

    events: list[Text]


@dataclass(frozen=True, slots=True)
class QueueUpdated:
    queue_size: Uint


@dataclass(frozen=True, slots=True)
class StateUpdated:
    state: Data


@dataclass(frozen=True, slots=True)
class WorkflowHistoryUpdated:
    history: Data


@dataclass(frozen=True, slots=True)
class SchedulesUpdated:
    schedules: list[Schedule]


@dataclass(frozen=True, slots=True)
class RpcsListResponse:
    rid: Uint
    rpcs: list[Text]


@dataclass(frozen=True, slots=True)
class TraceQueryResponse:
    rid: Uint
    payload: Data


@dataclass(frozen=True, slots=True)
class QueueResponse:
    rid: Uint
    status: QueueStatus


@dataclass(frozen=True, slots=True)
class WorkflowHistoryResponse:
    rid: Uint
    history: Data | None
    is_workflow_enabled: Flag


@dataclass(frozen=True, slots=True)
class WorkflowReplayResponse:
    rid: Uint
    history: Data | None
    is_workflow_enabled: Flag


@dataclass(frozen=True, slots=True)
class SchedulesResponse:
    rid: Uint
    schedules: list[Schedule]


@dataclass(frozen=True, slots=True)
class ScheduleHistoryResponse:
    rid: Uint
    schedule_id: Text
    history: list[ScheduleFire]


@dataclass(frozen=True, slots=True)
class ScheduleDeleteResponse:
    rid: Uint
    schedule_id: Text
    deleted: Flag


@dataclass(frozen=True, slots=True)
class Error:
    message: Text


@dataclass(frozen=True, slots=True)
class DatabaseSchemaResponse:
    rid: Uint
    schema: Data


@dataclass(frozen=True, slots=True)
class DatabaseTableRowsResponse:
    rid: Uint
    result: Data


Update = ConnectionsUpdated | QueueUpdated | StateUpdated | WorkflowHistoryUpdated | SchedulesUpdated
Response = (
    StateResponse
    | ConnectionsResponse
    | ActionResponse
    | RpcsListResponse
    | TraceQueryResponse
    | QueueResponse
    | WorkflowHistoryResponse
    | WorkflowReplayResponse
    | SchedulesResponse
    | ScheduleHistoryResponse
    | ScheduleDeleteResponse
    | DatabaseSchemaResponse
    | DatabaseTableRowsResponse
)
ToInspector = Init | Error | Update | Response | EventsResponse | EventsUpdated

_SIXTH: tuple[type[ToInspector], ...] = (
    StateResponse,
    ConnectionsResponse,
    ActionResponse,
    ConnectionsUpdated,
    QueueUpdated,
    StateUpdated,
    WorkflowHistoryUpdated,
    SchedulesUpdated,
    RpcsListResponse,
    TraceQueryResponse,
    QueueResponse,
    WorkflowHistoryResponse,
    WorkflowReplayResponse,
    SchedulesResponse,
    ScheduleHistoryResponse,
    ScheduleDeleteResponse,
    Error,
    Init,
    DatabaseSchemaResponse,
    DatabaseTableRowsResponse,
)
_FIFTH = without(_SIXTH, SchedulesUpdated, SchedulesResponse, ScheduleHistoryResponse, ScheduleDeleteResponse)
_THIRD = without(_FIFTH, WorkflowReplayResponse)
_SECOND = without(_THIRD, DatabaseSchemaResponse, DatabaseTableRowsResponse)
TO_INSPECTOR: Messages[ToInspector] = Messages(
    {
        1: (
            StateResponse,
            ConnectionsResponse,
            EventsResponse,
            ActionResponse,
            RpcsListResponse,
            ConnectionsUpdated,
            EventsUpdated,
            StateUpdated,
            Error,
            Init,
        ),
        2: _SECOND,
        3: _THIRD,
        4: _FIFTH,
        5: _FIFTH,
        6: _SIXTH,
    }
)
