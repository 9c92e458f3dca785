"""What a connection has to say, in order, and the actions that wait for their answer. sans-I/O."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rivetpy.errors import RivetError
from rivetpy.wire.messages import ActionRequest, SubscriptionRequest, ToServer
from rivetpy.wire.tags import Value


@dataclass(slots=True, eq=False)
class _Waiting:
    request: ActionRequest
    answer: asyncio.Future[Value]
    sent: bool = False


class Courier:
    """Outlives the lines that its messages go over: what was not sent over one goes over the next."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._waiting: dict[int, _Waiting] = {}
        self._outbox: deque[ToServer] = deque()
        self._news = asyncio.Event()

    def call(self, name: str, args: Sequence[Value]) -> asyncio.Future[Value]:
        """Ask for an action; its answer."""
        request = ActionRequest(next(self._numbers), name, list(args))
        answer: asyncio.Future[Value] = asyncio.get_running_loop().create_future()
        self._waiting[request.id] = _Waiting(request, answer)
        answer.add_done_callback(lambda _: self._waiting.pop(request.id, None))
        self.put(request)
        return answer

    def put(self, message: ToServer) -> None:
        """Say this after what waits already."""
        self._outbox.append(message)
        self._news.set()

    def begin(self, events: Iterable[str]) -> None:
        """A line is open: subscriptions first, then the actions that were never sent."""
        unsent = [waiting.request for waiting in self._waiting.values() if not waiting.sent]
        self._outbox = deque([*(SubscriptionRequest(event, True) for event in events), *unsent])
        self._news.set()

    async def next(self) -> ToServer:
        """The next message to send; an action counts as sent from here on. Nobody waits for those left out."""
        while True:
            while not self._outbox:
                self._news.clear()
                await self._news.wait()
            message = self._outbox.popleft()
            if not isinstance(message, ActionRequest):
                return message
            if waiting := self._waiting.get(message.id):
                waiting.sent = True
                return message

    def answered(self, number: int, output: Value) -> None:
        """An action is done."""
        if (waiting := self._waiting.get(number)) and not waiting.answer.done():
            waiting.answer.set_result(output)

    def failed(self, number: int, error: RivetError) -> None:
        """An action failed."""
        if (waiting := self._waiting.get(number)) and not waiting.answer.done():
            waiting.answer.set_exception(error)

    def dropped(self, reason: RivetError) -> None:
        """The line broke: whether the actions that went over it ran is not known."""
        for waiting in [waiting for waiting in self._waiting.values() if waiting.sent]:
            self.failed(waiting.request.id, _lost(waiting.request.name, reason))

    def ended(self, error: RivetError) -> None:
        """No line will follow."""
        for number in list(self._waiting):
            self.failed(number, error)


def _lost(name: str, reason: RivetError) -> RivetError:
    told = f"{reason.group}.{reason.code}"
    error = RivetError(
        "client",
        "connection_lost",
        f"The connection broke ({told}: {reason.message}) before action {name!r} was answered; whether it ran "
        "is not known. It can be called again where twice does no harm.",
        {"reason": told},
    )
    error.__cause__ = reason
    return error
