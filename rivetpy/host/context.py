"""c: what an actor's actions are handed (spec actors 2)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from rivetpy.codec import Value
from rivetpy.identity import Key
from rivetpy.workflow.run import Run

if TYPE_CHECKING:
    from rivetpy.host.instance import Instance


class ActorContext:
    """One action's view of its actor. Changes of the state are durable before the action's answer leaves."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        #: Whether the state was reached for, so that there may be something to commit.
        self.touched = False
        self.queue = ActorQueue(instance)

    @property
    def state(self) -> Value:
        """The durable state, shared with the actor's other actions and steps."""
        self.touched = True
        return self._instance.state

    @state.setter
    def state(self, value: Value) -> None:
        self.touched = True
        self._instance.state = value

    @property
    def actor_id(self) -> str:
        """The actor's random id."""
        return self._instance.actor_id

    @property
    def name(self) -> str:
        """The actor's name."""
        return self._instance.name

    @property
    def key(self) -> Key:
        """The actor's key."""
        return self._instance.key

    @property
    def input(self) -> Value:
        """What the actor was created with."""
        return self._instance.input

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger that names the actor."""
        return self._instance.action_log


class ActorQueue:
    """The actor's own queues, from an action."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    async def send(self, queue: str, body: Value) -> None:
        """Send to a queue of this actor; durable when this returns."""
        await self._instance.send(queue, body)


class StepData:
    """The actor as one attempt of a step changes it; the kernel commits it with the step."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.touched = False
        self.sends: list[tuple[str, bytes]] = []

    @property
    def state(self) -> Value:
        """The durable state."""
        self._touch()
        return self._instance.state

    @state.setter
    def state(self, value: Value) -> None:
        self._touch()
        self._instance.state = value

    def _touch(self) -> None:
        if not self.touched:
            self.touched = True
            self._instance.step_touched(self)

    @property
    def untouched(self) -> bool:
        """Whether there is nothing to commit."""
        return not self.touched and not self.sends

    def send(self, queue: str, body: Value) -> None:
        """Check the message now; it is enqueued with the step."""
        self.sends.append((queue, self._instance.checked_body(queue, body, len(self.sends))))

    def discard_sends(self) -> None:
        """Forget what a failed attempt sent."""
        self.sends.clear()


def actor_log(name: str, key: str) -> logging.LoggerAdapter[logging.Logger]:
    """A logger that names the actor in every record."""
    return logging.LoggerAdapter(logging.getLogger("rivetpy.actor"), {"actor": name, "key": key})


class WorkflowLog(logging.LoggerAdapter[logging.Logger]):
    """An actor's logger for its workflow: silent while that replays."""

    def __init__(self, log: logging.LoggerAdapter[logging.Logger], run: Callable[[], Run | None]) -> None:
        super().__init__(log.logger, log.extra)
        self._run = run

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - logging's name
        run = self._run()
        return not (run is not None and run.replaying) and super().isEnabledFor(level)
