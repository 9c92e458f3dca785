"""What a suspended verb waits for, as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wait:
    """A moment (epoch ms), a message, or whichever comes first."""

    #: sleep, message or retry.
    reason: str
    location: str
    deadline: int | None = None
    #: Which queues; None for all. Only looked at when the reason is message.
    queues: frozenset[str] | None = None

    def takes(self, queue: str) -> bool:
        """Whether a message of this queue is waited for."""
        return self.reason == "message" and (self.queues is None or queue in self.queues)
