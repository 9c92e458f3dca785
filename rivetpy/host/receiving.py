"""c.queue: an actor's own queues from its code, and receiving in run handlers that are no workflow (spec actors 2)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from rivetpy import codec
from rivetpy.codec import Value
from rivetpy.errors import RivetError
from rivetpy.host.parts import Parts
from rivetpy.wire.bodies import QueueSend
from rivetpy.workflow import layout
from rivetpy.workflow.duration import Duration, deadline, milliseconds
from rivetpy.workflow.entries import Message
from rivetpy.workflow.received import Received
from rivetpy.workflow.waits import Wait

Names = Sequence[str] | str | None


class ActorMessage(Received):
    """A message as a run handler gets it."""

    def __init__(self, queue: ActorQueue, message: Message, completable: bool) -> None:
        super().__init__(message)
        self._queue = queue
        self._completable = completable

    async def complete(self, response: Value = None) -> None:
        """Answer whoever waits for this message and remove it from the queue.

        Raises RivetError ``queue.complete_not_configured`` when it was not received as completable,
        ``queue.already_completed`` the second time, and `EncodeError` for a response that can't be stored.
        """
        if not self._completable:
            raise self._not_completable()
        await self._queue.complete(self._message, codec.encode(response))


class ActorQueue:
    """The actor's own queues. Receiving is for run handlers: a message is received once, and then it is gone."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._open: dict[int, Message] = {}

    async def send(self, queue: str, body: Value = None) -> None:
        """Send to a queue of this actor; durable when this returns."""
        await self._parts.queues.send(queue, QueueSend(body))

    async def next(
        self, names: Names = None, *, timeout: Duration | None = None, completable: bool = False
    ) -> ActorMessage:
        """Wait for one message of the queues in ``names`` (all when omitted), in order of arrival.

        ``completable``: it stays in the queue until `ActorMessage.complete`, and is received again after a
        restart before that. What the handler changed in the state is durable with it; at the latest with its next
        receive. Raises RivetError ``queue.timed_out``.
        """
        messages = await self.next_batch(names, timeout=timeout, completable=completable)
        if not messages:
            raise RivetError(
                "queue",
                "timed_out",
                "No message came before the timeout. Where that is no error, use next_batch, which returns [].",
            )
        return messages[0]

    async def next_batch(
        self,
        names: Names = None,
        *,
        count: int = 1,
        timeout: Duration | None = None,
        completable: bool = False,
    ) -> list[ActorMessage]:
        """Wait for 1 to ``count`` messages; [] when the timeout comes first."""
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ValueError(f"count is a whole number from 1, not {count!r}")
        clock = self._parts.core.clock
        wait_ms = None if timeout is None else milliseconds(timeout, "timeout")
        end = None if wait_ms is None else deadline(clock.now(), wait_ms)
        queues = self._checked(names)
        await self._parts.core.write_state()  # what was done with the message before
        while not (messages := await self._take(queues, count, completable)):
            if end is not None and end <= clock.now():
                break
            await self._parts.inbox.wait(Wait("message", "", end, queues))
        return messages

    async def try_next(self, names: Names = None, *, completable: bool = False) -> ActorMessage | None:
        """A message that is there already, or None."""
        messages = await self._take(self._checked(names), 1, completable)
        return messages[0] if messages else None

    async def iter(self, names: Names = None, *, completable: bool = False) -> AsyncIterator[ActorMessage]:
        """Every message as it comes: ``async for message in c.queue.iter():``"""
        while True:
            yield await self.next(names, completable=completable)

    def _checked(self, names: Names) -> frozenset[str] | None:
        if self._parts.core.definition.has_workflow:
            raise RivetError(
                "queue",
                "received_by_workflow",
                "The workflow of this actor receives its messages; use ctx.queue.next in the workflow.",
            )
        if self._open:
            raise RivetError(
                "queue",
                "previous_message_not_completed",
                f"A receive began while message {next(iter(self._open))} was not completed; "
                "await message.complete() first.",
            )
        if names is None:
            return None
        queues = frozenset([names] if isinstance(names, str) else names)
        if not queues:
            raise ValueError("names is empty; leave it out to wait for all queues")
        self._parts.queues.check_declared(queues)
        return queues

    async def _take(self, queues: frozenset[str] | None, count: int, keep: bool) -> list[ActorMessage]:
        taken = self._parts.queues.mailbox.take(queues, count, keep=keep)
        if keep:
            self._open.update((message.id, message) for message in taken)
        elif taken:
            batch = self._parts.core.batch()
            batch.deletes += [layout.message_key(message.id) for message in taken]
            await self._parts.core.write(batch)
        return [ActorMessage(self, message, keep) for message in taken]

    async def complete(self, message: Message, response: bytes) -> None:
        """See `ActorMessage.complete`."""
        if self._open.pop(message.id, None) is None:
            raise RivetError("queue", "already_completed", f"Message {message.id} was completed before.")
        batch = self._parts.core.batch()
        self._parts.core.stage_state(batch)
        await self._parts.queues.complete(batch, message, response)

    def release(self) -> None:
        """Whoever received is gone: what was not completed may be received again."""
        self._parts.queues.release(list(self._open))
        self._open.clear()
