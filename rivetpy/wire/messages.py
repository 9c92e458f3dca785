"""Every message of the protocol and its table: actions, queues, errors, the socket's two directions (wire 6, 7.2)."""

from __future__ import annotations

from dataclasses import dataclass

from rivetpy.wire.structs import BIG_UINT, DATA, FLAG, MILLIS, TEXT, UINT, Field, Struct, Union
from rivetpy.wire.tags import Value

#: The number of a connection's action, and what an error gives as its action when it has none.
ACTION_ID = Field("actionId", "action_id", BIG_UINT, optional=True, null=True)


@dataclass(frozen=True, slots=True)
class ActionCall:
    """The body of an action request."""

    args: Value = None


@dataclass(frozen=True, slots=True)
class ActionOutput:
    """The body of its answer."""

    output: Value = None


@dataclass(frozen=True, slots=True)
class Enqueue:
    """The body of a queue send. ``timeout`` is in ms; ``idempotency_key`` is ours."""

    body: Value = None
    name: str | None = None
    wait: bool | None = None
    timeout: float | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class Enqueued:
    """The body of its answer: ``completed`` or ``timedOut``."""

    status: str = "completed"
    response: Value = None


@dataclass(frozen=True, slots=True)
class ActorSpecifier:
    """Which actor an error comes from; ``key`` is its display form."""

    actor_id: str
    key: str | None = None
    generation: int = 1


@dataclass(frozen=True, slots=True)
class Failed:
    """An error; on a socket with ``action_id`` the end of that action."""

    group: str
    code: str
    message: str
    metadata: Value = None
    action_id: int | None = None
    actor: ActorSpecifier | None = None


@dataclass(frozen=True, slots=True)
class Init:
    """A connection is open."""

    actor_id: str
    connection_id: str
    connection_token: str = ""


@dataclass(frozen=True, slots=True)
class ActionResponse:
    """An action of a connection is done."""

    id: int
    output: Value = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that the connection subscribed to; ``args`` is the list of the callback's arguments."""

    name: str
    args: Value = None


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """A connection calls an action; its end comes with the same ``id``."""

    id: int
    name: str
    args: Value = None


@dataclass(frozen=True, slots=True)
class SubscriptionRequest:
    """A connection wants an event, or no longer."""

    event_name: str
    subscribe: bool


ToClient = Init | Failed | ActionResponse | Event
ToServer = ActionRequest | SubscriptionRequest

ACTION_CALL = Struct(ActionCall, (Field("args", "args", DATA),))
ACTION_OUTPUT = Struct(ActionOutput, (Field("output", "output", DATA),))
ENQUEUE = Struct(
    Enqueue,
    (
        Field("body", "body", DATA),
        Field("name", "name", TEXT, optional=True),
        Field("wait", "wait", FLAG, optional=True),
        Field("timeout", "timeout", MILLIS, optional=True),
        Field("idempotencyKey", "idempotency_key", TEXT, optional=True, trees_only=True),
    ),
    since=3,
)
ENQUEUED = Struct(
    Enqueued,
    (Field("status", "status", TEXT), Field("response", "response", DATA, optional=True)),
    since=3,
)
ACTOR = Struct(
    ActorSpecifier,
    (
        Field("actorId", "actor_id", TEXT),
        Field("generation", "generation", UINT),
        Field("key", "key", TEXT, optional=True),
    ),
)
_ERROR = (
    Field("group", "group", TEXT),
    Field("code", "code", TEXT),
    Field("message", "message", TEXT),
    Field("metadata", "metadata", DATA, optional=True),
)
_ERROR_ACTOR = Field("actor", "actor", ACTOR, optional=True, since=4)
HTTP_ERROR = Struct(Failed, (*_ERROR, _ERROR_ACTOR))

TO_CLIENT: Union[ToClient] = Union(
    (
        (
            "Init",
            Init,
            Struct(
                Init,
                (
                    Field("actorId", "actor_id", TEXT),
                    Field("connectionId", "connection_id", TEXT),
                    Field("connectionToken", "connection_token", TEXT, until=1),
                ),
            ),
        ),
        ("Error", Failed, Struct(Failed, (*_ERROR, ACTION_ID, _ERROR_ACTOR))),
        (
            "ActionResponse",
            ActionResponse,
            Struct(ActionResponse, (Field("id", "id", BIG_UINT), Field("output", "output", DATA))),
        ),
        ("Event", Event, Struct(Event, (Field("name", "name", TEXT), Field("args", "args", DATA)))),
    )
)
TO_SERVER: Union[ToServer] = Union(
    (
        (
            "ActionRequest",
            ActionRequest,
            Struct(
                ActionRequest,
                (Field("id", "id", BIG_UINT), Field("name", "name", TEXT), Field("args", "args", DATA)),
            ),
        ),
        (
            "SubscriptionRequest",
            SubscriptionRequest,
            Struct(
                SubscriptionRequest,
                (Field("eventName", "event_name", TEXT), Field("subscribe", "subscribe", FLAG)),
            ),
        ),
    )
)
