"""What reaches an actor and leaves it by name: queues and events, and the models both are checked against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rivetpy.codec import Value
from rivetpy.errors import DefinitionError, RivetError
from rivetpy.state import Validate, validator

#: ``can_publish(c)``, ``can_subscribe(c)``: whether the connection ``c.conn`` may; ``def`` or ``async def``.
Permission = Callable[..., Value]


@dataclass(frozen=True, slots=True)
class QueueDefinition:
    """A durable queue; with a model, bodies are checked before anything is stored."""

    model: object = None
    completion: object = None
    can_publish: Permission | None = None
    _check: Validate | None = field(default=None, repr=False)

    def checked(self, queue: str, body: Value) -> Value:
        """The body, if it fits the model. Raises RivetError ``queue.message_invalid`` with the field's path."""
        if self._check is None:
            return body
        try:
            self._check(body)
        except Exception as error:
            problems = _problems(error)
            raise RivetError(
                "queue",
                "message_invalid",
                f"The body does not fit queue {queue!r}: {'; '.join(problems)}.",
                {"queue": queue, "problems": problems},
            ) from error
        return body


@dataclass(frozen=True, slots=True)
class EventDefinition:
    """An event that connections may subscribe to; with a model, its one argument is checked when it is sent."""

    model: object = None
    can_subscribe: Permission | None = None
    _check: Validate | None = field(default=None, repr=False)

    def check(self, event: str, args: Sequence[Value]) -> None:
        """Raises RivetError ``event.invalid`` for arguments that do not fit the model."""
        if self._check is None:
            return
        problems = [] if len(args) == 1 else [f"one argument is sent with it, not {len(args)}"]
        try:
            if not problems:
                self._check(args[0])
        except Exception as error:
            problems = _problems(error)
        if problems:
            raise RivetError(
                "event",
                "invalid",
                f"What is sent does not fit event {event!r}: {'; '.join(problems)}.",
                {"event": event, "problems": problems},
            )


def queue(
    model: object = None, *, completion: object = None, can_publish: Permission | None = None
) -> QueueDefinition:
    """Declare a queue of an actor.

    ``model`` (a pydantic model, dataclass, or any annotation) is what bodies must fit; ``completion`` documents
    what a completed message answers with. ``can_publish(c)`` decides who may send: ``c.conn`` is the sender.
    """
    what = f"queue({model!r})"
    return QueueDefinition(model, completion, _permission("can_publish", can_publish), _checker(what, model))


def event(model: object = None, *, can_subscribe: Permission | None = None) -> EventDefinition:
    """Declare an event of an actor.

    ``model`` is what the event's one argument must fit. ``can_subscribe(c)`` decides who may listen: ``c.conn``.
    """
    what = f"event({model!r})"
    return EventDefinition(model, _permission("can_subscribe", can_subscribe), _checker(what, model))


def _permission(name: str, given: Permission | None) -> Permission | None:
    if given is not None and not callable(given):
        raise DefinitionError(f"{name} is a function (c) that returns True or False, not {given!r}.")
    return given


def _checker(what: str, model: object) -> Validate | None:
    try:
        return None if model is None else validator(model)
    except Exception as error:
        raise DefinitionError(f"{what}: not a type that can be checked: {error}") from error


def _problems(error: Exception) -> list[str]:
    """One line per field, path first."""
    errors = getattr(error, "errors", None)
    if not callable(errors):
        return [str(error)]
    return [f"{'.'.join(map(str, item['loc'])) or '$'}: {item['msg']}" for item in errors()]
