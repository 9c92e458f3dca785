"""What the inspector asks of an actor over its WebSocket, in every version there was (wire 9.3).

Each ``id`` comes back as the answer's ``rid``; values are CBOR.
"""

from __future__ import annotations

from dataclasses import dataclass

from rivetpy.wire.forms import Data, Messages, Text, Uint, without

#: The newest version, and the one of clients that name none: those put a version in front of every message.
LATEST, UNNAMED = 6, 5


@dataclass(frozen=True, slots=True)
class PatchState:
    state: Data


@dataclass(frozen=True, slots=True)
class StateRequest:
    id: Uint


@dataclass(frozen=True, slots=True)
class ConnectionsRequest:
    id: Uint


@dataclass(frozen=True, slots=True)
class ActionRequest:
    id: Uint
    name: Text
    args: Data


@dataclass(frozen=True, slots=True)
class EventsRequest:
    """Of the first version only; nothing is answered to it any more."""

    id: Uint


@dataclass(frozen=True, slots=True)
class ClearEventsRequest:
    """Of the first version only; nothing is answered to it any more."""

    id: Uint


@dataclass(frozen=True, slots=True)
class RpcsListRequest:
    id: Uint


@dataclass(frozen=True, slots=True)
class TraceQueryRequest:
    id: Uint
    start_ms: Uint
    end_ms: Uint
    limit: Uint


@dataclass(frozen=True, slots=True)
class QueueRequest:
    id: Uint
    limit: Uint


@dataclass(frozen=True, slots=True)
class WorkflowHistoryRequest:
    id: Uint


@dataclass(frozen=True, slots=True)
class WorkflowReplayRequest:
    id: Uint
    entry_id: Text | None


@dataclass(frozen=True, slots=True)
class DatabaseSchemaRequest:
    id: Uint


@dataclass(frozen=True, slots=True)
class DatabaseTableRowsRequest:
    id: Uint
    table: Text
    limit: Uint
    offset: Uint


@dataclass(frozen=True, slots=True)
class SchedulesRequest:
    id: Uint


@dataclass(frozen=True, slots=True)
class ScheduleHistoryRequest:
    id: Uint
    schedule_id: Text
    limit: Uint


@dataclass(frozen=True, slots=True)
class ScheduleDeleteRequest:
    """``kind`` is at, cron or every."""

    id: Uint
    schedule_id: Text
    kind: Text


ToActor = (
    PatchState
    | StateRequest
    | ConnectionsRequest
    | ActionRequest
    | EventsRequest
    | ClearEventsRequest
    | RpcsListRequest
    | TraceQueryRequest
    | QueueRequest
    | WorkflowHistoryRequest
    | WorkflowReplayRequest
    | DatabaseSchemaRequest
    | DatabaseTableRowsRequest
    | SchedulesRequest
    | ScheduleHistoryRequest
    | ScheduleDeleteRequest
)

_SIXTH: tuple[type[ToActor], ...] = (
    PatchState,
    StateRequest,
    ConnectionsRequest,
    ActionRequest,
    RpcsListRequest,
    TraceQueryRequest,
    QueueRequest,
    WorkflowHistoryRequest,
    WorkflowReplayRequest,
    DatabaseSchemaRequest,
    DatabaseTableRowsRequest,
    SchedulesRequest,
    ScheduleHistoryRequest,
    ScheduleDeleteRequest,
)
_FIFTH = without(_SIXTH, SchedulesRequest, ScheduleHistoryRequest, ScheduleDeleteRequest)
_THIRD = without(_FIFTH, WorkflowReplayRequest)
_SECOND = without(_THIRD, DatabaseSchemaRequest, DatabaseTableRowsRequest)
TO_ACTOR: Messages[ToActor] = Messages(
    {
        1: (
            PatchState,
            StateRequest,
            ConnectionsRequest,
            ActionRequest,
            EventsRequest,
            ClearEventsRequest,
            RpcsListRequest,
        ),
        2: _SECOND,
        3: _THIRD,
        4: _FIFTH,
        5: _FIFTH,
        6: _SIXTH,
    }
)
