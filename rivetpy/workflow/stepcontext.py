"""What a step body is handed: the only place where a workflow reaches its actor's data (spec workflows 1, 3)."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable

from rivetpy.codec import Value
from rivetpy.identity import Key
from rivetpy.workflow.abilities import Database, KeyValues, Schedule
from rivetpy.workflow.entries import StepEntry
from rivetpy.workflow.errors import WorkflowUsageError
from rivetpy.workflow.port import ActorData, Port


class StepQueue:
    """The actor's own queues, from a step."""

    def __init__(self, step: StepContext) -> None:
        self._step = step

    async def send(self, queue: str, body: Value) -> None:
        """Send to a queue of this actor. The message appears when the step is recorded, and only then.

        Raises RivetError ``queue.not_declared``, ``queue.message_invalid``, ``queue.message_too_large``.
        """
        self._step._live().send(queue, body)


class Abort(threading.Event):
    """Tells a body that its result is no longer wanted."""

    def __init__(self, given_up: Callable[[], bool]) -> None:
        super().__init__()
        self._given_up = given_up

    def is_set(self) -> bool:
        """Also true while a cancelled body is still cleaning up."""
        return super().is_set() or self._given_up()


class StepContext:
    """One attempt of a step."""

    def __init__(
        self, port: Port, data: ActorData, entry: StepEntry, rewound_at: int, given_up: Callable[[], bool]
    ) -> None:
        self._port = port
        self._data: ActorData | None = data
        self._name = entry.name
        self._location = entry.location
        self._rewound_at = rewound_at
        #: 1 for the first attempt.
        self.attempt = entry.attempts
        self._given_up = given_up
        self._abort: Abort | None = None

    @property
    def queue(self) -> StepQueue:
        """The actor's own queues."""
        return StepQueue(self)

    @property
    def idempotency_key(self) -> str:
        """Stable over attempts and replays, unique per entry: give it to services that deduplicate.

        A rewind makes what runs again another execution, with other keys.
        """
        identity = f"{self.actor_id}:{self._location}" + (f":{self._rewound_at}" if self._rewound_at else "")
        return hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()

    @property
    def state(self) -> Value:
        """The actor's state; what is changed here is committed together with the step's result."""
        return self._live().state

    @state.setter
    def state(self, value: Value) -> None:
        self._live().state = value

    @property
    def vars(self) -> Value:
        """What the actor keeps for this life only: made anew at every wake, never stored."""
        return self._live().vars

    @property
    def kv(self) -> KeyValues:
        """Durable values by key; what is changed here is committed together with the step's result."""
        return self._live().kv

    @property
    def db(self) -> Database:
        """The actor's own SQLite database. What is done there is done at once, and again when the step runs again."""
        return self._live().db

    @property
    def schedule(self) -> Schedule:
        """The actor's actions to be called later; changed together with the step's result."""
        return self._live().schedule

    def client(self) -> Value:
        """A `rivetpy.client.Client` of the actors of this engine. What is sent with it carries an idempotency key of
        the step: a step that runs twice sends once. Nothing of it waits for the step's record.
        """
        return self._live().client(self.idempotency_key)

    def broadcast(self, event: str, /, *args: Value) -> None:
        """Send an event to the actor's subscribers. It leaves when the step is recorded, and only then.

        Raises RivetError ``event.not_declared``, ``event.invalid``, or `EncodeError`.
        """
        self._live().broadcast(event, args)

    @property
    def abort(self) -> Abort:
        """Set when the attempt is given up: timed out, cancelled, or put away for good. A ``def`` body can't be
        stopped from outside and should look at it."""
        if self._abort is None:
            self._abort = Abort(self._given_up)
        if self._data is None:
            self._abort.set()
        return self._abort

    @property
    def actor_id(self) -> str:
        """The actor's random id."""
        return self._port.actor_id

    @property
    def name(self) -> str:
        """The actor's name."""
        return self._port.name

    @property
    def key(self) -> Key:
        """The actor's key."""
        return self._port.key

    @property
    def input(self) -> Value:
        """What the actor was created with."""
        return self._port.input

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger that names the actor."""
        return self._port.log

    def let_go(self) -> None:
        """The body goes on in its thread though nobody waits for it: what it changes from now on is nobody's."""
        self._live().let_go()

    def end(self) -> None:
        """The attempt is over: the body, if it still runs in a thread, is told to stop."""
        self._data = None
        if self._abort is not None:
            self._abort.set()

    def _live(self) -> ActorData:
        if self._data is None:
            raise WorkflowUsageError(
                f"The context of step {self._name!r} was used after the step ended; what it would change "
                "can no longer be recorded. Await everything a step starts before it returns."
            )
        return self._data
