"""An actor's queues in memory, in step with their rows (spec workflows 7)."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Collection, Iterable
from operator import attrgetter

import msgpack

from rivetpy.store import Batch
from rivetpy.workflow import layout
from rivetpy.workflow.entries import Message

VERSION = 1
_BY_ID = attrgetter("id")


def pack_message(message: Message) -> bytes:
    """A message as its row."""
    packed: bytes = msgpack.packb([VERSION, *message.pack()])
    return packed


def unpack_message(data: bytes) -> Message:
    """The inverse of `pack_message`."""
    _, *fields = msgpack.unpackb(data)
    return Message(*fields)


class Mailbox:
    """Messages that wait, in order of arrival, and messages handed out but not completed yet."""

    def __init__(self, rows: Iterable[tuple[bytes, bytes]], unanswered: Collection[int]) -> None:
        self._waiting: list[Message] = []
        self._unanswered: dict[int, Message] = {}
        self._next_id = 1
        self._arriving = 0
        for key, value in rows:
            if key.startswith(layout.MESSAGE):
                message = unpack_message(value)
                if message.id in unanswered:
                    self._unanswered[message.id] = message
                else:
                    self._waiting.append(message)
            elif key == layout.NEXT_MESSAGE:
                self._next_id = msgpack.unpackb(value)

    def __len__(self) -> int:
        """How many messages count against the queue's size: waiting, unanswered and on their way."""
        return len(self._waiting) + len(self._unanswered) + self._arriving

    @property
    def arriving(self) -> bool:
        """Whether messages are on their way that nobody can receive yet."""
        return self._arriving > 0

    def messages(self) -> list[Message]:
        """What is in the queues, oldest first."""
        return sorted([*self._unanswered.values(), *self._waiting], key=_BY_ID)

    def stage(
        self, batch: Batch, queue: str, body: bytes, now: int, idempotency_key: str | None = None
    ) -> Message:
        """Put a new message into a batch; `arrived` must follow once it is durable."""
        message = Message(self._next_id, queue, body, now, idempotency_key)
        self._next_id += 1
        self._arriving += 1
        batch.puts[layout.message_key(message.id)] = pack_message(message)
        batch.puts[layout.NEXT_MESSAGE] = msgpack.packb(self._next_id)
        return message

    def arrived(self, message: Message) -> None:
        """The message is durable and may be received."""
        self._arriving -= 1
        bisect.insort(self._waiting, message, key=_BY_ID)

    def waiting(self, queues: frozenset[str] | None) -> bool:
        """Whether there is a message in one of the queues (None: in any)."""
        return any(queues is None or message.queue in queues for message in self._waiting)

    def take(self, queues: frozenset[str] | None, count: int, *, keep: bool) -> list[Message]:
        """Remove the oldest messages of the queues; with ``keep`` they stay as unanswered."""
        matching = (i for i, message in enumerate(self._waiting) if queues is None or message.queue in queues)
        places = list(itertools.islice(matching, count))
        taken = [self._waiting[place] for place in places]
        for place in reversed(places):
            del self._waiting[place]
        if keep:
            self._unanswered.update((message.id, message) for message in taken)
        return taken

    def answered(self, message_id: int) -> None:
        """An unanswered message was completed."""
        self._unanswered.pop(message_id, None)

    def release(self, ids: Collection[int]) -> list[Message]:
        """Unanswered messages wait again."""
        released = [self._unanswered.pop(message) for message in ids if message in self._unanswered]
        for message in released:
            bisect.insort(self._waiting, message, key=_BY_ID)
        return released

    def put_back(self, message: Message) -> None:
        """A message that was taken for good waits again."""
        bisect.insort(self._waiting, message, key=_BY_ID)

    def drop(self, batch: Batch, ids: Collection[int] | None) -> list[Message]:
        """Delete waiting messages (None: all of them); those a workflow holds stay."""
        gone = [message for message in self._waiting if ids is None or message.id in ids]
        batch.deletes += [layout.message_key(message.id) for message in gone]
        left = {message.id for message in self._waiting} - {message.id for message in gone}
        self._waiting = [message for message in self._waiting if message.id in left]
        return gone
