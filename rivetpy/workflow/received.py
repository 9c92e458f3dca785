"""A message as whoever received it gets it: what workflows and run handlers have in common."""

from __future__ import annotations

import datetime as dt

from rivetpy import codec
from rivetpy.codec import Value
from rivetpy.workflow.duration import EPOCH
from rivetpy.workflow.entries import Message
from rivetpy.workflow.errors import MessageError


class Received:
    """A queue message: its id, queue, body and time."""

    def __init__(self, message: Message) -> None:
        self._message = message
        self.id = str(message.id)
        #: The queue it came through.
        self.name = message.queue
        self.body: Value = codec.decode(message.body)
        self.created_at = EPOCH + dt.timedelta(milliseconds=message.created_at)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id!r}, name={self.name!r}, body={self.body!r})"

    def _not_completable(self) -> MessageError:
        return MessageError(
            "complete_not_configured",
            f"Message {self.id} was received without completable=True; it is gone from the queue already.",
        )
