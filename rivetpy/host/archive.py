"""One actor's whole durable life as a value, and as the bytes of a file that is read anywhere.

A file is `MAGIC`, the version (a byte), the SHA-256 of all that follows, and that: msgpack of id, name, key, time of
creation, rows, and the actor's own database. Nothing in it is ever run or unpickled; what is not whole is refused.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import msgpack

from rivetpy import codec
from rivetpy.errors import RivetError
from rivetpy.host.due import next_due
from rivetpy.host.offline import view_rows
from rivetpy.host.senders import Senders
from rivetpy.identity import Key, key_of
from rivetpy.store import ActorRow, Pairs
from rivetpy.workflow import layout

MAGIC = b"rivet actor\n"
VERSION = 1
#: The longest file (bytes). It is held in memory once on each side.
MAX_SIZE = 256 * 1024 * 1024
_DIGEST = hashlib.sha256().digest_size
_BEGIN = len(MAGIC) + 1 + _DIGEST
_LATEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Archive:
    """An actor as it is stored: its identity, its rows, and its own database as SQLite has it on disk."""

    id: str
    name: str
    key: Key
    created_at: int
    rows: Pairs
    database: bytes | None = None

    def pack(self) -> bytes:
        """As a file. Raises RivetError ``archive.too_large``."""
        content: bytes = msgpack.packb(
            [self.id, self.name, list(self.key), self.created_at, self.rows, self.database]
        )
        data = MAGIC + bytes([VERSION]) + hashlib.sha256(content).digest() + content
        if len(data) > MAX_SIZE:
            raise _too_large(len(data))
        return data


def unpack(data: bytes) -> Archive:
    """The inverse of `Archive.pack`.

    Raises RivetError ``archive.invalid`` for what is none, ``newer_format``, ``damaged``, ``too_large``.
    """
    if len(data) > MAX_SIZE:
        raise _too_large(len(data))
    if not data.startswith(MAGIC):
        what = "It is empty" if not data else "It does not begin like one"
        raise RivetError("archive", "invalid", f"This is no exported actor. {what}.")
    version = data[len(MAGIC) : len(MAGIC) + 1]
    if version != bytes([VERSION]):
        raise RivetError(
            "archive",
            "newer_format",
            f"This actor was exported in format {version[0] if version else '?'}; this rivetpy reads format "
            f"{VERSION}. Upgrade rivetpy.",
        )
    content = data[_BEGIN:]
    if hashlib.sha256(content).digest() != data[_BEGIN - _DIGEST : _BEGIN]:
        raise damaged("what is in it is not what was exported")
    try:
        return _checked(*msgpack.unpackb(content))
    except RivetError as error:
        raise damaged(error.message) from error
    except Exception as error:  # a right checksum says nothing about who computed it
        raise damaged(f"{type(error).__name__}: {error}") from error


def damaged(reason: str) -> RivetError:
    """What should be an actor can't be read."""
    return RivetError("archive", "damaged", f"This exported actor is damaged: {reason}. Export it again.")


def _checked(
    id: str, name: str, key: list[str], created_at: int, rows: list[list[bytes]], database: bytes | None
) -> Archive:
    """Everything in it can be read, so that what wakes up later does."""
    if not (isinstance(id, str) and isinstance(name, str) and name and 0 <= int(created_at) <= _LATEST):
        raise ValueError("who it was can't be read")
    if not isinstance(database, bytes | None):
        raise TypeError("its database is none")
    pairs = [(bytes(row_key), bytes(value)) for row_key, value in rows]
    archive = Archive(id, name, key_of(key), int(created_at), sorted(pairs), database)
    if len(dict(pairs)) != len(pairs):
        raise ValueError("it has two values of one key")
    check_rows(ActorRow(id, "", name, archive.key, archive.created_at), archive.rows)
    return archive


def check_rows(row: ActorRow, rows: Pairs) -> None:
    """Read every row as its owner will. Raises whatever that raises."""
    for row_key, value in rows:
        if row_key[:1] not in layout.KINDS:
            raise ValueError(f"it has a row {row_key[:20]!r}, which no actor has")
        if row_key.startswith((layout.INPUT, layout.KV)):
            codec.decode(value)
    for message in view_rows(row, rows).queue:
        codec.decode(message.body)
    next_due(rows)
    Senders(rows, now=0, longest=0)
    undo = dict(rows).get(layout.UNDO)
    if undo is not None:
        _, kept, ids = msgpack.unpackb(undo)
        [(bytes(kept_key), bytes(value)) for kept_key, value in kept]
        list(map(int, ids))


def _too_large(size: int) -> RivetError:
    return RivetError(
        "archive",
        "too_large",
        f"The actor has {size} bytes as a file; {MAX_SIZE} are allowed. Remove old data from its database or kv first.",
        {"size": size, "limit": MAX_SIZE},
    )
