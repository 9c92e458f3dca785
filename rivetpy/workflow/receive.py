"""queue.next, queue.next_batch: wait for messages; the receipt and its entry are one commit (spec workflows 7)."""

from __future__ import annotations

from dataclasses import dataclass

from rivetpy import codec
from rivetpy.codec import Value
from rivetpy.workflow import layout
from rivetpy.workflow.entries import Message, MessageEntry, Status
from rivetpy.workflow.errors import Evicted, MessageError, Stopped
from rivetpy.workflow.received import Received
from rivetpy.workflow.scope import Scope, verb
from rivetpy.workflow.waits import Wait


@dataclass(frozen=True, slots=True)
class ReceiveOptions:
    """What to wait for; ``timeout`` in milliseconds."""

    queues: list[str] | None = None
    count: int = 1
    timeout: int | None = None
    completable: bool = False


class QueueMessage(Received):
    """A message as a workflow gets it."""

    def __init__(self, scope: Scope, entry: MessageEntry, message: Message) -> None:
        super().__init__(message)
        self._scope = scope
        self._entry = entry
        self._answered = False

    async def complete(self, response: Value = None) -> None:
        """Answer whoever waits for this message and remove it from the queue; on replay, nothing.

        Raises RivetError ``queue.complete_not_configured`` when the wait was not completable,
        ``queue.already_completed`` the second time, and `EncodeError` for a response that can't be stored.
        """
        if not self._entry.completable:
            raise self._not_completable()
        if self._answered:
            raise MessageError("already_completed", f"Message {self.id} was completed before.")
        encoded = codec.encode(response)
        self._answered = True
        if self._message.id not in self._entry.completed:
            await _complete(self._scope, self._entry, self._message, encoded)


@verb
async def receive(scope: Scope, name: str, options: ReceiveOptions) -> list[QueueMessage]:
    """Look up, replay, wait, take, record. An empty list: the timeout came first."""
    run = scope.run
    queues = run.port.queue_names(options.queues, name)
    if scope.recorded(name) is None:  # before the visit: what is refused here leaves nothing to come back to
        _check_open(scope, name)
    entry = scope.visit(MessageEntry, name)
    if not entry.finished:
        await _receive(scope, entry, queues, options)
    if entry.completable:
        for message in entry.messages:
            if message.id not in entry.completed:
                scope.frontier.open_messages[message.id] = name
    return [QueueMessage(scope, entry, message) for message in entry.messages]


def _check_open(scope: Scope, name: str) -> None:
    if scope.frontier.open_messages:
        message, wait = next(iter(scope.frontier.open_messages.items()))
        raise MessageError(
            "previous_message_not_completed",
            f"Wait {name!r} began while message {message} of wait {wait!r} was not completed; "
            "await message.complete() first.",
        )


async def _receive(
    scope: Scope, entry: MessageEntry, queues: frozenset[str] | None, options: ReceiveOptions
) -> None:
    run = scope.run
    clock = run.port.clock
    if not run.journal.has(entry):
        entry.queues = options.queues
        entry.completable = options.completable
        entry.deadline = None if options.timeout is None else clock.now() + options.timeout
        if not run.port.waiting(queues) and options.timeout != 0:
            await scope.record(entry)  # the deadline is fixed, and the history shows what is waited for
    while not (messages := run.port.take(queues, options.count, keep=entry.completable)):
        if entry.deadline is not None and entry.deadline <= clock.now():
            break
        await scope.wait(Wait("message", entry.location, entry.deadline, queues))
    entry.messages = messages
    entry.finish(Status.COMPLETED, clock.now())
    if not entry.completable:
        run.journal.delete([layout.message_key(message.id) for message in messages])
    await scope.record(entry)


async def _complete(scope: Scope, entry: MessageEntry, message: Message, response: bytes) -> None:
    if scope.run.dry:
        raise Stopped
    if scope.run.leaving or scope.frontier.cancelled:  # before anything is written: another pass may follow
        raise Evicted
    entry.completed.append(message.id)
    scope.run.journal.write(entry)
    await scope.run.complete(message, response)
    scope.frontier.open_messages.pop(message.id, None)
