"""What user code is handed of its actor: c in actions, and the data behind a step (spec actors 2)."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from rivetpy.codec import Value
from rivetpy.host.core import Core
from rivetpy.host.queues import Queues
from rivetpy.identity import Key


@contextlib.contextmanager
def no_exit(what: str) -> Iterator[None]:
    """User code that calls ``sys.exit`` ends itself, not the engine: RuntimeError."""
    try:
        yield
    except SystemExit as error:
        raise RuntimeError(f"{what} called sys.exit({error.code!r})") from error


Log = logging.LoggerAdapter[logging.Logger]


class ActorContext:
    """One action's view of its actor. Changes of the state are durable before the action's answer leaves."""

    def __init__(self, core: Core, queues: Queues, log: Log) -> None:
        self._core = core
        #: Whether the state was reached for, so that there may be something to commit.
        self.touched = False
        self.queue = ActorQueue(queues)
        #: A logger that names the actor.
        self.log = log

    @property
    def state(self) -> Value:
        """The durable state, shared with the actor's other actions and steps."""
        self.touched = True
        return self._core.state

    @state.setter
    def state(self, value: Value) -> None:
        self.touched = True
        self._core.state = value

    @property
    def actor_id(self) -> str:
        """The actor's random id."""
        return self._core.row.id

    @property
    def name(self) -> str:
        """The actor's name."""
        return self._core.row.name

    @property
    def key(self) -> Key:
        """The actor's key."""
        return self._core.row.key

    @property
    def input(self) -> Value:
        """What the actor was created with."""
        return self._core.input


class ActorQueue:
    """The actor's own queues, from an action."""

    def __init__(self, queues: Queues) -> None:
        self._queues = queues

    async def send(self, queue: str, body: Value) -> None:
        """Send to a queue of this actor; durable when this returns."""
        await self._queues.send(queue, body)


class StepData:
    """The actor as one attempt of a step changes it; the kernel commits it with the step."""

    def __init__(self, core: Core, queues: Queues) -> None:
        self._core = core
        self._queues = queues
        self.touched = False
        self.sends: list[tuple[str, bytes]] = []

    @property
    def state(self) -> Value:
        """The durable state."""
        self._touch()
        return self._core.state

    @state.setter
    def state(self, value: Value) -> None:
        self._touch()
        self._core.state = value

    def _touch(self) -> None:
        if not self.touched:
            self.touched = True
            self._core.step_touched(self)

    @property
    def untouched(self) -> bool:
        """Whether there is nothing to commit."""
        return not self.touched and not self.sends

    def send(self, queue: str, body: Value) -> None:
        """Check the message now; it is enqueued with the step."""
        self.sends.append((queue, self._queues.checked_body(queue, body, len(self.sends))))

    def abandon(self) -> None:
        """Nothing more comes of this attempt."""
        self.discard_sends()
        self._core.step_settled(self)

    def discard_sends(self) -> None:
        """Forget what a failed attempt sent."""
        self.sends.clear()
