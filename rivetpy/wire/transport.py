"""A workflow's history as the inspector's WebSocket carries it: transport version 1 (wire 9.3). Values are CBOR."""

from __future__ import annotations

from dataclasses import dataclass

from rivetpy.wire import bare
from rivetpy.wire.forms import U8, U32, U64, Data, Struct, Text

VERSION = 1

#: What the numbers of a status mean.
ENTRY_STATUS = ("pending", "running", "completed", "failed", "exhausted")
SLEEP_STATUS = ("pending", "completed", "interrupted")
BRANCH_STATUS = ("pending", "running", "completed", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Iteration:
    """A part of a location: an iteration of a loop, which is given by the index of its name."""

    loop: U32
    iteration: U32


@dataclass(frozen=True, slots=True)
class Branch:
    status: U8
    output: Data | None
    error: Text | None


@dataclass(frozen=True, slots=True)
class Step:
    output: Data | None
    error: Text | None


@dataclass(frozen=True, slots=True)
class Loop:
    state: Data
    iteration: U32
    output: Data | None


@dataclass(frozen=True, slots=True)
class Sleep:
    deadline: U64
    state: U8


@dataclass(frozen=True, slots=True)
class Message:
    name: Text
    message: Data


@dataclass(frozen=True, slots=True)
class Checkpoint:
    name: Text


@dataclass(frozen=True, slots=True)
class Join:
    branches: dict[str, Branch]


@dataclass(frozen=True, slots=True)
class Race:
    winner: Text | None
    branches: dict[str, Branch]


@dataclass(frozen=True, slots=True)
class Removed:
    original_type: Text
    original_name: Text | None


@dataclass(frozen=True, slots=True)
class VersionCheck:
    resolved: U32
    latest: U32


Kind = Step | Loop | Sleep | Message | Checkpoint | Join | Race | Removed | VersionCheck


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry; the parts of its location are indexes into the names, or iterations."""

    id: Text
    location: list[U32 | Iteration]
    kind: Kind


@dataclass(frozen=True, slots=True)
class Metadata:
    """How an entry stands. Times are epoch ms."""

    status: U8
    error: Text | None
    attempts: U32
    last_attempt_at: U64
    created_at: U64
    completed_at: U64 | None
    rollback_completed_at: U64 | None
    rollback_error: Text | None


@dataclass(frozen=True, slots=True)
class History:
    names: list[Text]
    entries: list[Entry]
    metadata: dict[str, Metadata]


_HISTORY = Struct(History)
_ENTRY, _METADATA = Struct(Entry), Struct(Metadata)


def read_history(data: bytes) -> History:
    """The history that bytes are. Raises RivetError ``actor.invalid_request``."""
    source = bare.Reader(data)
    history = _HISTORY.read(source, VERSION)
    source.end()
    return history


class HistoryWriter:
    """A history on its way to bytes, entry by entry."""

    def __init__(self) -> None:
        self._entries = bare.Writer()
        self._metadata = bare.Writer()
        self._count = 0

    def add(self, entry: Entry, metadata: Metadata) -> None:
        """The next entry."""
        self._count += 1
        _ENTRY.write(self._entries, entry, VERSION)
        self._metadata.text(entry.id)
        _METADATA.write(self._metadata, metadata, VERSION)

    def written(self, names: list[str]) -> bytes:
        """All of them, after the names that their locations are indexes into."""
        out = bare.Writer()
        out.items(names, out.text)
        for part in (self._entries, self._metadata):
            out.uint(self._count)
            out.data += part.data
        return bytes(out.data)
