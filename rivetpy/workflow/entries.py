"""The kinds of journal entries, the states each may be in, and their form in the store."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import msgpack

from rivetpy.codec import Value
from rivetpy.errors import StoreError
from rivetpy.workflow import failure as failures
from rivetpy.workflow.failure import Failure
from rivetpy.workflow.location import name_of, split

VERSION = 1


class Kind(enum.StrEnum):
    """What wrote an entry."""

    STEP = "step"
    LOOP = "loop"
    SLEEP = "sleep"
    MESSAGE = "message"
    JOIN = "join"
    RACE = "race"
    BLOCK = "block"
    VERSION = "version"
    CHECKPOINT = "rollback_checkpoint"
    ITERATION = "iteration"


class Status(enum.StrEnum):
    """How far an entry is (spec workflows 11)."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    EXHAUSTED = "exhausted"
    INTERRUPTED = "interrupted"
    CANCELLED = "cancelled"


#: The status in which an entry of a kind begins.
INITIAL: dict[Kind, Status] = {
    Kind.STEP: Status.PENDING,
    Kind.LOOP: Status.RUNNING,
    Kind.SLEEP: Status.PENDING,
    Kind.MESSAGE: Status.PENDING,
    Kind.JOIN: Status.RUNNING,
    Kind.RACE: Status.RUNNING,
    Kind.BLOCK: Status.RUNNING,
    Kind.VERSION: Status.RUNNING,
    Kind.CHECKPOINT: Status.RUNNING,
    Kind.ITERATION: Status.COMPLETED,
}
#: Where an unfinished entry may go. A finished one never changes its status again.
TRANSITIONS: dict[Kind, dict[Status, frozenset[Status]]] = {
    Kind.STEP: {Status.PENDING: frozenset({Status.COMPLETED, Status.FAILED, Status.EXHAUSTED})},
    Kind.LOOP: {Status.RUNNING: frozenset({Status.COMPLETED})},
    Kind.SLEEP: {Status.PENDING: frozenset({Status.COMPLETED, Status.INTERRUPTED})},
    Kind.MESSAGE: {Status.PENDING: frozenset({Status.COMPLETED})},
    Kind.JOIN: {Status.RUNNING: frozenset({Status.COMPLETED, Status.FAILED})},
    Kind.RACE: {Status.RUNNING: frozenset({Status.COMPLETED, Status.FAILED})},
    Kind.BLOCK: {Status.RUNNING: frozenset({Status.COMPLETED, Status.FAILED})},
    Kind.VERSION: {Status.RUNNING: frozenset({Status.COMPLETED})},
    Kind.CHECKPOINT: {Status.RUNNING: frozenset({Status.COMPLETED})},
    Kind.ITERATION: {},
}
#: Kinds that only frame others: what happens in them is in the entries below.
FRAMES = frozenset({Kind.LOOP, Kind.JOIN, Kind.RACE, Kind.BLOCK})
FINISHED = frozenset({Status.COMPLETED, Status.FAILED, Status.EXHAUSTED, Status.INTERRUPTED})


@dataclass(slots=True)
class Message:
    """A queue message as stored; ``id`` grows with arrival, ``body`` is encoded. Times are epoch ms."""

    id: int
    queue: str
    body: bytes
    created_at: int
    idempotency_key: str | None = None

    def pack(self) -> list[object]:
        return [self.id, self.queue, self.body, self.created_at, self.idempotency_key]


@dataclass(slots=True)
class Entry:
    """One line of the journal. Times are epoch milliseconds."""

    kind: ClassVar[Kind]
    location: str
    #: Grows with every entry of the workflow: the order in which they were begun.
    seq: int
    status: Status
    created_at: int
    completed_at: int | None = None

    @property
    def name(self) -> str:
        """The name the user gave it."""
        return name_of(split(self.location)[1])

    @property
    def finished(self) -> bool:
        return self.status in FINISHED

    def finish(self, status: Status, now: int) -> None:
        """Go to a final status; AssertionError where the table knows no such way."""
        allowed = TRANSITIONS[self.kind].get(self.status, frozenset())
        assert status in allowed, f"{self.kind} at {self.location}: {self.status} -> {status}"
        self.status = status
        self.completed_at = now


@dataclass(slots=True)
class StepEntry(Entry):
    """A step: pending between attempts, then completed, failed (no retry allowed) or exhausted."""

    kind = Kind.STEP
    attempts: int = 0
    started_at: int | None = None  # of the last attempt
    retry_at: int | None = None
    output: bytes | None = None
    failure: Failure | None = None
    #: Why it failed: critical, timeout, exhausted or rollback.
    reason: str | None = None
    #: Grows with completion; only where there is a rollback handler, whose order it gives.
    done: int | None = None
    rolled_back_at: int | None = None
    rollback_failure: Failure | None = None


@dataclass(slots=True)
class LoopEntry(Entry):
    """A loop: the iteration it is in, the state that one was given, and the oldest iteration still kept."""

    kind = Kind.LOOP
    iteration: int = 0
    state: bytes | None = None
    first: int = 0
    output: bytes | None = None


@dataclass(slots=True)
class SleepEntry(Entry):
    """A sleep: its deadline never moves once recorded."""

    kind = Kind.SLEEP
    deadline: int = 0


@dataclass(slots=True)
class MessageEntry(Entry):
    """A queue wait: what it waits for, then what it received (nothing: the deadline came first)."""

    kind = Kind.MESSAGE
    queues: list[str] | None = None
    deadline: int | None = None
    completable: bool = False
    messages: list[Message] = field(default_factory=list)
    #: Ids of the completable messages that were completed.
    completed: list[int] = field(default_factory=list)

    @property
    def unanswered(self) -> list[Message]:
        """The completable messages that wait to be completed."""
        return [m for m in self.messages if m.id not in self.completed] if self.completable else []


@dataclass(slots=True)
class Branch:
    """One branch of a join or race: pending, completed, failed or cancelled."""

    status: Status = Status.PENDING
    output: bytes | None = None
    failure: Failure | None = None

    def pack(self) -> list[object]:
        return [self.status, self.output, None if self.failure is None else failures.pack(self.failure)]


@dataclass(slots=True)
class JoinEntry(Entry):
    """A join: its branches, in the order they were given."""

    kind = Kind.JOIN
    branches: dict[str, Branch] = field(default_factory=dict)


@dataclass(slots=True)
class RaceEntry(Entry):
    """A race: its branches, and the one that completed first."""

    kind = Kind.RACE
    branches: dict[str, Branch] = field(default_factory=dict)
    winner: str | None = None


@dataclass(slots=True)
class BlockEntry(Entry):
    """A try_block: its result, or the failure that was caught and where that came from."""

    kind = Kind.BLOCK
    output: bytes | None = None
    failure: Failure | None = None
    source: str | None = None


@dataclass(slots=True)
class VersionEntry(Entry):
    """A get_version: the version this run is held to, and the latest one when that was decided."""

    kind = Kind.VERSION
    resolved: int = 1
    latest: int = 1


@dataclass(slots=True)
class CheckpointEntry(Entry):
    """A rollback_checkpoint: from here on steps may be rolled back."""

    kind = Kind.CHECKPOINT


@dataclass(slots=True)
class IterationEntry(Entry):
    """What a retained past iteration of a loop was given, at that iteration's scope."""

    kind = Kind.ITERATION
    state: bytes = b""


ENTRY_TYPES: dict[Kind, type[Entry]] = {
    Kind.STEP: StepEntry,
    Kind.LOOP: LoopEntry,
    Kind.SLEEP: SleepEntry,
    Kind.MESSAGE: MessageEntry,
    Kind.JOIN: JoinEntry,
    Kind.RACE: RaceEntry,
    Kind.BLOCK: BlockEntry,
    Kind.VERSION: VersionEntry,
    Kind.CHECKPOINT: CheckpointEntry,
    Kind.ITERATION: IterationEntry,
}

_NAMES = {kind: [f.name for f in fields(cls) if f.name != "location"] for kind, cls in ENTRY_TYPES.items()}
_GETTERS: dict[Kind, Callable[[Entry], tuple[Any, ...]]] = {
    kind: attrgetter(*names) for kind, names in _NAMES.items()
}


def _plain(value: object) -> object:
    if isinstance(value, Message | Branch):
        return value.pack()
    if isinstance(value, Failure):
        return failures.pack(value)
    raise TypeError(f"an entry can't hold {value!r}")


def pack(entry: Entry) -> bytes:
    """The entry as stored, without its location (that is its key)."""
    packed: bytes = msgpack.packb([VERSION, entry.kind, *_GETTERS[entry.kind](entry)], default=_plain)
    return packed


def unpack(location: str, data: bytes) -> Entry:
    """The inverse of `pack`.

    Raises `StoreError`: ``newer_format`` for a form this release does not know, ``damaged``.
    """
    try:
        version, kind, *values = msgpack.unpackb(data)
    except Exception as error:
        raise StoreError("damaged", f"The entry at {location!r} can't be read ({error}).") from error
    # Fields are only ever added at the end, so a shorter entry is an older one, whose missing fields have defaults.
    if version != VERSION or kind not in ENTRY_TYPES or len(values) > len(_NAMES[kind]):
        raise StoreError(
            "newer_format",
            f"The entry at {location!r} was written in format {version} ({kind}); "
            f"this rivetpy reads format {VERSION}. Upgrade rivetpy.",
        )
    entry = ENTRY_TYPES[kind](location, **dict(zip(_NAMES[kind], values, strict=False)))
    entry.status = Status(entry.status)
    _restore_parts(entry)
    return entry


class Packed(NamedTuple):
    """An entry that was looked at only far enough to tell whether it is wanted."""

    seq: int
    location: str
    data: bytes
    kind: str
    finished: bool


def peek(location: str, data: bytes) -> Packed:
    """Much quicker than `unpack`, which raises what is wrong with it."""
    try:
        _, kind, seq, status, *_ = msgpack.unpackb(data)
        return Packed(seq, location, data, kind, status in FINISHED)
    except (ValueError, TypeError):
        entry = unpack(location, data)
        return Packed(entry.seq, location, data, entry.kind, entry.finished)


def _restore_parts(entry: Entry) -> None:
    """Turn what is nested in an entry from its packed form into objects, in place."""
    if isinstance(entry, StepEntry | BlockEntry):
        entry.failure = _failure(entry.failure)
    if isinstance(entry, StepEntry):
        entry.rollback_failure = _failure(entry.rollback_failure)
    if isinstance(entry, MessageEntry):
        entry.messages = [Message(*message) for message in entry.messages]  # type: ignore[misc]
    if isinstance(entry, JoinEntry | RaceEntry):
        packed: dict[str, Value] = entry.branches
        entry.branches = {
            name: Branch(Status(status), output, _failure(failure))
            for name, (status, output, failure) in packed.items()
        }


def _failure(packed: Value) -> Failure | None:
    return None if packed is None else failures.unpack(packed)
