"""The journal as the inspector sends it (spec wire 9.2), read into lines and into a tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rivetpy.wire.jsonvalue import Json, JsonObject
from rivetpy.workflow.location import segment

_KINDS = {
    "WorkflowStepEntry": "step",
    "WorkflowLoopEntry": "loop",
    "WorkflowSleepEntry": "sleep",
    "WorkflowMessageEntry": "message",
    "WorkflowVersionCheckEntry": "version",
    "WorkflowRollbackCheckpointEntry": "rollback_checkpoint",
}
#: Kinds whose entries hold others; of those, the ones whose parts run side by side.
FRAMES = frozenset({"loop", "join", "race", "block"})
BRANCHING = frozenset({"join", "race"})
#: Kinds that wait for something to happen.
WAITING = frozenset({"message", "sleep"})
#: The workflow came to an end; or it does nothing more with this code.
ENDED = frozenset({"completed", "failed", "cancelled"})
STILL = ENDED | {"diverged"}


@dataclass(frozen=True, slots=True)
class BranchLine:
    """One branch of a join or race; ``won`` the race."""

    name: str
    status: str
    value: Json
    failure: JsonObject | None
    won: bool = False

    def as_json(self) -> JsonObject:
        """What `rivet history --json` prints of it."""
        return {"status": self.status, "value": self.value, "error": self.failure}


@dataclass(frozen=True, slots=True)
class Line:
    """One entry. Times are epoch ms; ``parts`` is its location, from the root."""

    parts: tuple[str, ...]
    seq: int
    kind: str
    status: str
    attempts: int
    created_at: int
    started_at: int | None
    completed_at: int | None
    retry_at: int | None
    deadline: int | None
    value: Json
    #: A failure (type, message, causes, traceback), when the last attempt failed.
    failure: JsonObject | None
    #: Why a step failed for good (critical, timeout, …), or where what a block caught came from.
    reason: str | None
    #: The iteration a loop is in.
    iteration: int | None = None
    #: What a message wait listens to; None: any queue.
    queues: tuple[str, ...] | None = None
    #: Of a join or race, in the order they were given.
    branches: tuple[BranchLine, ...] = ()
    rolled_back_at: int | None = None
    #: Why undoing this step failed.
    rollback_failure: JsonObject | None = None

    @property
    def location(self) -> str:
        return "/".join(self.parts)

    @property
    def begun_at(self) -> int:
        """When the last attempt began, or the entry."""
        return self.started_at or self.created_at

    def ended_at(self, now: int) -> int:
        """When it was done, so far."""
        return now if self.completed_at is None else self.completed_at

    @property
    def working(self) -> bool:
        """Whether it is a step whose body runs, as far as the journal tells."""
        between = self.retry_at is not None and self.begun_at < self.retry_at
        return self.kind == "step" and self.status == "pending" and self.attempts > 0 and not between

    @property
    def failed(self) -> bool:
        """Whether it came to a bad end, or undoing it did."""
        return self.status in {"failed", "exhausted"} or self.rollback_failure is not None

    @property
    def winner(self) -> str | None:
        """The branch that won a race."""
        return next((branch.name for branch in self.branches if branch.won), None)

    def as_json(self) -> JsonObject:
        """What `rivet history --json` prints."""
        return {
            "location": self.location,
            "kind": self.kind,
            "status": self.status,
            "attempts": self.attempts,
            "createdAt": self.created_at,
            "startedAt": self.started_at,
            "completedAt": self.completed_at,
            "retryAt": self.retry_at,
            "deadline": self.deadline,
            "value": self.value,
            "error": self.failure,
            "reason": self.reason,
            "branches": {branch.name: branch.as_json() for branch in self.branches} or None,
            "winner": self.winner,
            "rolledBackAt": self.rolled_back_at,
            "rollbackError": self.rollback_failure,
        }

    @property
    def stands(self) -> bool:
        """Whether the workflow is at it: not done, and not a frame for others."""
        return self.completed_at is None and self.kind not in FRAMES


@dataclass(slots=True)
class Node:
    """A place in the tree: an entry, or a scope that is none (an iteration, a branch)."""

    part: str
    line: Line | None = None
    branch: BranchLine | None = None
    children: dict[str, Node] = field(default_factory=dict)

    def walk(self) -> Iterator[Line]:
        """The entries at and under this place."""
        if self.line is not None:
            yield self.line
        for child in self.children.values():
            yield from child.walk()

    @property
    def iteration(self) -> int | None:
        """Which iteration of a loop this scope is."""
        digits = self.part.removeprefix("~")
        return int(digits) if digits != self.part and digits.isdecimal() else None


def read_lines(history: JsonObject | None) -> list[Line]:
    """The entries of ``history`` (H of the spec) in the order in which they were begun."""
    if history is None:
        return []
    names = [segment(name) for name in history["nameRegistry"]]
    lines = [_line(entry, history["entryMetadata"][entry["id"]], names) for entry in history["entries"]]
    return sorted(lines, key=lambda line: line.seq)


def build_tree(lines: list[Line]) -> Node:
    """The entries as a tree; children stand in the order in which they were begun."""
    root = Node("")
    for line in lines:
        node = root
        for part in line.parts:
            node = node.children.setdefault(part, Node(part))
        node.line = line
        for branch in line.branches:  # also those in which nothing is recorded
            part = segment(branch.name)
            node.children.setdefault(part, Node(part)).branch = branch
    return root


def _line(entry: JsonObject, about: JsonObject, names: list[str]) -> Line:
    tag, data = entry["kind"]["tag"], entry["kind"]["val"]
    kind = _KINDS.get(tag, tag.removeprefix("Workflow").removesuffix("Entry").lower())
    return Line(
        parts=tuple(_part(piece, names) for piece in entry["location"]),
        seq=about["seq"],
        kind=kind,
        status=about["status"].lower(),
        attempts=about["attempts"] if kind == "step" else 0,
        created_at=about["createdAt"],
        started_at=about["lastAttemptAt"],
        completed_at=about["completedAt"],
        retry_at=about.get("retryAt"),
        deadline=data.get("deadline"),
        value=_value(kind, data),
        failure=about.get("failure"),
        reason=about.get("reason") or data.get("source"),
        iteration=data.get("iteration"),
        queues=None if data.get("queues") is None else tuple(data["queues"]),
        branches=tuple(_branches(data)),
        rolled_back_at=about.get("rollbackCompletedAt"),
        rollback_failure=about.get("rollbackFailure"),
    )


def _branches(data: JsonObject) -> Iterator[BranchLine]:
    for name, branch in data.get("branches", {}).items():
        yield BranchLine(
            name,
            branch["status"].lower(),
            branch["output"],
            branch.get("failure"),
            won=name == data.get("winner"),
        )


def _part(piece: JsonObject, names: list[str]) -> str:
    if piece["tag"] == "WorkflowNameIndex":
        return names[piece["val"]]
    return f"~{piece['val']['iteration']}"


def _value(kind: str, data: JsonObject) -> Json:
    if kind == "message":
        received = data["messageData"]
        return list(map(_message, received)) if isinstance(received, list) else _message(received)
    if kind == "loop":
        return data["output"] if data.get("output") is not None else data.get("state")
    if kind == "version":
        return {"resolved": data["resolved"], "latest": data["latest"]}
    if kind == "race" and data["winner"] is not None:
        won: Json = data["branches"][data["winner"]]["output"]
        return won
    return data.get("output")


def _message(received: JsonObject | None) -> Json:
    """A received message without the marker that tells it apart on the wire."""
    if received is None:
        return None
    return {name: value for name, value in received.items() if not name.startswith("__")}
