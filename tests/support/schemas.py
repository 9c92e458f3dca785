"""What each command prints with ``--json``: one object a line of these shapes, and no field more."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Shape(msgspec.Struct, forbid_unknown_fields=True):
    """An object with these fields only."""


class Summary(Shape):
    status: str
    workflowStatus: str | None
    queueSize: int
    historySize: int
    waitingFor: list[str]
    nextWakeAt: int | None


class Actor(Shape):
    actor_id: str
    name: str
    key: str
    namespace_id: str
    datacenter: str
    runner_name_selector: str
    crash_policy: str
    create_ts: int
    start_ts: int
    pending_allocation_ts: int | None
    connectable_ts: int | None
    sleep_ts: int | None
    reschedule_ts: int | None
    destroy_ts: int | None


class ListedActor(Actor):
    summary: Summary


class Copied(Actor):
    did: Literal["fork", "import"]
    entries: int
    messages: int
    left_out: int


class Sent(Shape):
    did: Literal["send"]
    name: str
    key: str
    queue: str
    messages: int
    response: Any = None


class Changed(Shape):
    did: Literal["cancel", "wake", "sleep", "destroy"]
    actor_id: str
    name: str
    key: str


class Resumed(Shape):
    did: Literal["recover", "undo"]
    actor_id: str
    name: str
    key: str
    workflowStatus: str


class Rewound(Shape):
    did: Literal["plan", "rewind"]
    actor_id: str
    name: str
    key: str
    removed: list[str]
    runsAgain: list[str]
    returnedMessages: int


class Removed(Shape):
    did: Literal["drop", "clear"]
    actor_id: str
    name: str
    key: str
    messages: int


class Made(Shape):
    did: Literal["init"]
    files: list[str]


class Failure(Shape):
    type: str
    module: str | None
    message: str
    group: str | None
    code: str | None
    metadata: Any
    traceback: list[Any] | str | None
    location: str | None
    causes: list[Failure]


class Entry(Shape):
    location: str
    kind: Literal[
        "step",
        "loop",
        "sleep",
        "message",
        "join",
        "race",
        "block",
        "version",
        "rollback_checkpoint",
        "removed",
    ]
    status: str
    attempts: int
    createdAt: int
    startedAt: int | None
    completedAt: int | None
    retryAt: int | None
    deadline: int | None
    value: Any
    error: Failure | None
    reason: str | None
    branches: dict[str, Any] | None
    winner: str | None
    rolledBackAt: int | None
    rollbackError: Failure | None


class Message(Shape):
    id: int
    name: str
    createdAtMs: int
    body: Any


class Checked(Shape):
    name: str
    key: str
    actorId: str
    status: str
    entries: int
    location: str | None
    expected: str | None
    found: str | None
    site: str | None
    around: list[Any]
    error: str | None


class Finding(Shape):
    check: str
    verdict: Literal["ok", "warn", "bad"]
    text: str
    todo: str


class Broadcast(Shape):
    at: int
    event: str
    args: list[Any]


#: By command; ``Any``: whatever the actor holds or returns.
SCHEMAS: dict[str, Any] = {
    "actors": ListedActor,
    "history": Entry,
    "queue": Message,
    "state": Any,
    "call": Any,
    "send": Sent,
    "cancel": Changed,
    "wake": Changed,
    "sleep": Changed,
    "destroy": Changed,
    "recover": Resumed,
    "rewind": Rewound,
    "init": Made,
    "replay": Checked,
    "fork": Copied,
    "import": Copied,
    "doctor": Finding,
    "watch": Broadcast,
}


def valid(command: str, text: str, shape: Any = None) -> list[Any]:
    """What a command printed, each line checked against its shape, or against that of another way to run it."""
    decoder = msgspec.json.Decoder(shape or SCHEMAS[command])
    return [decoder.decode(line) for line in text.splitlines()]
