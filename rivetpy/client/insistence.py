"""A send that waits, over cut connections and engines that begin anew: again, with the same key. sans-I/O."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from rivetpy.client.calls import BACK_OFF, MAY_HAVE_RUN, NOT_RUN
from rivetpy.errors import RivetError
from rivetpy.identity import new_token
from rivetpy.wire.bodies import WAITING_KEY, QueueSend

#: How long (seconds) an engine that was there a moment ago may be gone. Engines keep answers for longer than that.
PATIENCE = 120.0


class Insistence:
    """One send that waits. Its key makes it one message, however often it is sent; without one it is given one.

    ``now`` is a clock that only goes forward (seconds).
    """

    def __init__(self, message: QueueSend, now: Callable[[], float] = time.monotonic) -> None:
        key = message.idempotency_key
        self._message = message if key else replace(message, idempotency_key=WAITING_KEY + new_token())
        self._now = now
        self._deadline = None if message.timeout is None else now() + message.timeout
        self._until: float | None = None
        #: The newest error that leaves open whether the message was taken.
        self._break: RivetError | None = None
        self._tries = 0

    @property
    def message(self) -> QueueSend:
        """What to send now: it waits for what is left of the timeout."""
        if self._deadline is None or not self._tries:
            return self._message
        return replace(self._message, timeout=max(self._deadline - self._now(), 0))

    def pause(self, error: RivetError) -> float:
        """Seconds after which to send it again.

        Raises the error when it is the answer. When the time is over, raises it, too, or the one before that says that
        the message may have been taken.
        """
        name, now = f"{error.group}.{error.code}", self._now()
        if name in MAY_HAVE_RUN:
            self._break, self._until = error, now + PATIENCE
        elif name in NOT_RUN or (name == "client.connection_failed" and self._tries):
            self._until = self._until or now + PATIENCE
        else:
            raise error
        pause = BACK_OFF[min(self._tries, len(BACK_OFF) - 1)]
        self._tries += 1
        if now + pause >= (self._until if self._deadline is None else min(self._until, self._deadline)):
            raise self._break or error
        return pause
