"""An actor's queues as senders and its workflow use them (spec workflows 7, actors 6)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from rivetpy import codec
from rivetpy.clock import TimeLimit
from rivetpy.codec import Value
from rivetpy.errors import RivetError, did_you_mean
from rivetpy.host.core import Core
from rivetpy.host.mailbox import Mailbox, pack_message
from rivetpy.host.senders import Seen, Senders
from rivetpy.host.tasks import Tasks
from rivetpy.store import Batch
from rivetpy.wire.bodies import QueueReply, QueueSend
from rivetpy.workflow import layout
from rivetpy.workflow.entries import Message


class Queues:
    """Checks, stores and hands out messages. ``on_arrival`` is told the queue of each that became durable."""

    def __init__(
        self, core: Core, mailbox: Mailbox, senders: Senders, on_arrival: Callable[[str], None]
    ) -> None:
        self.mailbox = mailbox
        self.senders = senders
        self._core = core
        self._on_arrival = on_arrival
        self._tasks = Tasks()

    # -- sending -----------------------------------------------------------------------------------------

    async def send(self, queue: str, message: QueueSend) -> QueueReply:
        """Enqueue a message, durable when this returns; with ``wait``, return when it is completed or ``timeout``
        seconds passed (then the message stays in the queue).

        A second send with the same idempotency key enqueues nothing and gets the first one's result.
        """
        seen: Seen | None = None
        key = message.idempotency_key
        if key is None:  # a sender that leaves meanwhile does not take its message back
            number = await self._enqueue(queue, message.body)
        else:
            number, seen = await self._tasks.finish(self._enqueue_once(queue, message.body, key))
        if not message.wait:
            return QueueReply("completed")
        if seen is not None and seen.completed:
            return QueueReply("completed", None if seen.response is None else codec.decode(seen.response))
        try:
            with TimeLimit(self._core.clock, message.timeout):
                return QueueReply("completed", codec.decode(await self.senders.wait(number)))
        except TimeoutError:
            return QueueReply("timedOut")

    async def _enqueue(self, queue: str, body: Value) -> int:
        """The id of the new message."""
        batch = self._core.batch()
        message = self.stage(batch, queue, self.checked_body(queue, body))
        await self._core.write(batch)
        self.arrived([message])
        return message.id

    async def _enqueue_once(self, queue: str, body: Value, idempotency_key: str) -> tuple[int, Seen]:
        """The id of the message, new or of the earlier send with this key; and what is known of that one."""
        if (earlier := self.senders.seen(idempotency_key, self._core.clock.now())) is not None:
            if earlier.arriving is not None:
                await asyncio.shield(earlier.arriving)  # it may fail, and so do we then
            return earlier.message, earlier
        batch = self._core.batch()
        message = self.stage(batch, queue, self.checked_body(queue, body), idempotency_key)
        seen = self.senders.remember(batch, message, idempotency_key)
        seen.arriving = asyncio.current_task()
        await self._core.write(batch)
        seen.arriving = None
        self.arrived([message])
        return message.id, seen

    def checked_body(self, queue: str, body: Value, more: int = 0) -> bytes:
        """The encoded body of a message that may be enqueued; ``more`` counts others on their way.

        Raises RivetError ``queue.not_declared``, ``message_invalid``, ``message_too_large``, ``full``.
        """
        self.check_declared([queue])
        data, plain = codec.reread(body)
        self._core.definition.queues[queue].checked(queue, plain)
        options = self._core.definition.options
        if len(data) > options.max_queue_message_size:
            raise RivetError(
                "queue",
                "message_too_large",
                f"The message for queue {queue!r} has {len(data)} bytes; {options.max_queue_message_size} are allowed "
                "(ActorOptions.max_queue_message_size). Send a reference to large data instead.",
                {"size": len(data), "limit": options.max_queue_message_size},
            )
        if len(self.mailbox) + more >= options.max_queue_size:
            raise RivetError(
                "queue",
                "full",
                f"The queues of {self._core.row.name!r} hold {options.max_queue_size} messages, the most allowed "
                "(ActorOptions.max_queue_size). Send again once some were handled.",
                {"limit": options.max_queue_size},
            )
        return data

    def check_declared(self, names: Collection[str]) -> None:
        """Raises RivetError ``queue.not_declared``, naming the nearest that is."""
        known = self._core.definition.queues
        for name in names:
            if name not in known:
                raise RivetError(
                    "queue",
                    "not_declared",
                    f"Actor {self._core.row.name!r} declares no queue {name!r}. {did_you_mean(name, known)}",
                    {"queue": name, "queues": sorted(known)},
                )

    # -- storing -----------------------------------------------------------------------------------------

    def stage(self, batch: Batch, queue: str, data: bytes, idempotency_key: str | None = None) -> Message:
        """Put a message into a batch; `arrived` must follow once that is durable."""
        return self.mailbox.stage(batch, queue, data, self._core.clock.now(), idempotency_key)

    def arrived(self, messages: Collection[Message]) -> None:
        """The messages are durable: whoever waits may have them."""
        for message in messages:
            self.mailbox.arrived(message)
            self._on_arrival(message.queue)

    async def complete(self, batch: Batch, message: Message, response: bytes) -> None:
        """Remove a message and remember its response, in the batch; then answer whoever waits for it."""
        self.senders.complete(batch, message, response, self._core.clock.now())
        await self._core.write(batch)
        self.mailbox.answered(message.id)
        self.senders.answer(message.id, response)

    def release(self, ids: Collection[int]) -> None:
        """Unanswered messages may be received again."""
        for message in self.mailbox.release(ids):
            self._on_arrival(message.queue)

    def put_back(self, messages: Collection[Message]) -> dict[bytes, bytes]:
        """Messages that were received wait again; their rows, to be committed at once."""
        for message in messages:
            self.mailbox.put_back(message)
            self._on_arrival(message.queue)
        return {layout.message_key(message.id): pack_message(message) for message in messages}

    async def drop(self, ids: Collection[int] | None) -> int:
        """Delete waiting messages (None: all of them); how many. Who waits for an answer gets ``queue.dropped``."""
        batch = self._core.batch()
        gone = self.mailbox.drop(batch, ids)
        for message in gone:
            self.senders.forget_dropped(batch, message)
        if gone:
            await self._core.write(batch)
        for message in gone:
            self.senders.refuse(message)
        return len(gone)
