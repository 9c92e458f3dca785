"""What a registry module says: actors, their queues, actions and workflow (spec actors 1, 2)."""

from __future__ import annotations

import dataclasses
import inspect
import keyword
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

from rivetpy.codec import Value
from rivetpy.errors import DefinitionError, RivetError, did_you_mean
from rivetpy.state import AnyState, StateShape, Validate, state_shape, validator
from rivetpy.workflow import ErrorHook, Workflow, WorkflowFunction, workflow

Action = Callable[..., Value]
A = TypeVar("A", bound=Callable[..., Any])
W = TypeVar("W", bound=WorkflowFunction)

MAX_NAME = 128
#: Names a handle or a connection has for itself: an action of that name could not be called as a method.
HANDLE_METHODS = frozenset(
    {
        "action",
        "send",
        "resolve",
        "fetch",
        "websocket",
        "connect",
        "on",
        "once",
        "dispose",
        "key",
        "name",
        "id",
    }
)


@dataclass(frozen=True, slots=True)
class ActorOptions:
    """Limits of an actor. Times are seconds, sizes bytes; the defaults are RivetKit's."""

    action_timeout: float = 60
    #: How long an idle actor stays in memory.
    sleep_timeout: float = 30
    #: How long an actor that is put away may take for it.
    sleep_grace_period: float = 15
    no_sleep: bool = False
    max_queue_size: int = 1000
    max_queue_message_size: int = 65536
    max_incoming_message_size: int = 65536
    max_outgoing_message_size: int = 1048576

    def __post_init__(self) -> None:
        for option in dataclasses.fields(self):
            value = getattr(self, option.name)
            if option.name == "no_sleep":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise DefinitionError(f"ActorOptions({option.name}=…) is a number above 0, not {value!r}.")


@dataclass(frozen=True, slots=True)
class QueueDefinition:
    """A durable queue; with a model, bodies are checked before anything is stored."""

    model: object = None
    completion: object = None
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


def _problems(error: Exception) -> list[str]:
    """One line per field, path first."""
    errors = getattr(error, "errors", None)
    if not callable(errors):
        return [str(error)]
    return [f"{'.'.join(map(str, item['loc'])) or '$'}: {item['msg']}" for item in errors()]


def queue(model: object = None, *, completion: object = None) -> QueueDefinition:
    """Declare a queue of an actor.

    ``model`` (a pydantic model, dataclass, or any annotation) is what bodies must fit; ``completion`` documents
    what a completed message answers with.
    """
    try:
        return QueueDefinition(model, completion, None if model is None else validator(model))
    except Exception as error:
        raise DefinitionError(f"queue({model!r}): not a type that can be checked: {error}") from error


class ActorDefinition:
    """One kind of actor. Built by `actor`; the decorators `workflow` and `action` add to it."""

    def __init__(
        self,
        *,
        shape: StateShape | None,
        create_state: Callable[..., Value] | None,
        queues: dict[str, QueueDefinition],
        options: ActorOptions,
    ) -> None:
        self.shape = shape
        self.create_state = create_state
        self.queues = queues
        self.options = options
        self.actions: dict[str, Action] = {}
        self.run: Workflow | None = None

    @property
    def has_workflow(self) -> bool:
        """Whether the actor runs a workflow."""
        return self.run is not None

    @overload
    def workflow(self, function: W) -> W: ...
    @overload
    def workflow(self, *, on_error: ErrorHook) -> Callable[[W], W]: ...
    def workflow(
        self, function: W | None = None, *, on_error: ErrorHook | None = None
    ) -> W | Callable[[W], W]:
        """Decorator: make this ``async def run(ctx)`` the actor's workflow; see `rivetpy.workflow.workflow`."""

        def set_run(function: W) -> W:
            if self.run is not None:
                raise DefinitionError(f"this actor has a workflow already: {self.run.function.__qualname__}.")
            self.run = workflow(function, on_error=on_error)
            return function

        return set_run if function is None else set_run(function)

    @overload
    def action(self, function: A) -> A: ...
    @overload
    def action(self, *, name: str) -> Callable[[A], A]: ...
    def action(self, function: A | None = None, *, name: str | None = None) -> A | Callable[[A], A]:
        """Decorator: add this function as an action, under its own name or the one given."""

        def add(function: A) -> A:
            self.add_action(name or function.__name__, function)
            return function

        return add if function is None else add(function)

    def add_action(self, name: str, function: Action) -> None:
        """Add an action; `DefinitionError` for a bad name, a name used twice or something not callable."""
        _check_name("action", name)
        if name in HANDLE_METHODS:
            raise DefinitionError(
                f"action {name!r} would hide the handle's own {name}(); give it another name."
            )
        if name in self.actions:
            raise DefinitionError(f"action {name!r} is defined twice.")
        if not callable(function):
            raise DefinitionError(f"action {name!r} is not a function: {function!r}.")
        self.actions[name] = function


def actor(
    *,
    state: Value = None,
    create_state: Callable[..., Value] | None = None,
    queues: Mapping[str, QueueDefinition] | None = None,
    actions: Mapping[str, Action] | None = None,
    run: Workflow | None = None,
    options: ActorOptions | None = None,
    **unknown: Value,
) -> ActorDefinition:
    """Define a kind of actor (spec actors 2).

    ``state`` is a dict, or a dataclass, pydantic model or msgspec struct (class or instance);
    ``create_state(c, input)`` makes it per actor instead. ``run`` is `workflow` (fn).

    Raises `DefinitionError` with the rule and the fix for anything that could not work.
    """
    if unknown:
        name = next(iter(unknown))
        raise DefinitionError(f"actor(…) has no option {name!r}. {did_you_mean(name, _OPTIONS)}")
    if state is not None and create_state is not None:
        raise DefinitionError("give state or create_state, not both.")
    if create_state is not None and not callable(create_state):
        raise DefinitionError(f"create_state is a function (c, input), not {create_state!r}.")
    if options is not None and not isinstance(options, ActorOptions):
        raise DefinitionError(f"options is ActorOptions(…), not {options!r}.")
    shape = state_shape(state) if state is not None else AnyState() if create_state is not None else None
    definition = ActorDefinition(
        shape=shape,
        create_state=create_state,
        queues=_queues(queues or {}),
        options=options or ActorOptions(),
    )
    for name, function in (actions or {}).items():
        definition.add_action(name, function)
    if run is not None:
        if not isinstance(run, Workflow):
            raise DefinitionError(f"run is workflow(fn), not {run!r}: write run=workflow(…).")
        definition.run = run
    return definition


_OPTIONS = [
    name
    for name, parameter in inspect.signature(actor).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
]


def _queues(queues: Mapping[str, QueueDefinition]) -> dict[str, QueueDefinition]:
    for name, definition in queues.items():
        _check_name("queue", name)
        if not isinstance(definition, QueueDefinition):
            raise DefinitionError(f"queue {name!r} is {definition!r}; write {name!r}: queue().")
    return dict(queues)


def _check_name(what: str, name: object) -> None:
    if not isinstance(name, str) or not name or len(name) > MAX_NAME:
        raise DefinitionError(f"{what} name {name!r}: a name is 1 to {MAX_NAME} characters of text.")
    if any(ord(letter) < 0x20 or ord(letter) == 0x7F or 0xD800 <= ord(letter) < 0xE000 for letter in name):
        raise DefinitionError(f"{what} name {name!r} has a control character; use printable text.")
    if what == "actor" and ("@" in name or name != name.strip()):
        raise DefinitionError(
            f"actor name {name!r}: no '@' and no space at either end (both have a meaning in URLs)."
        )
    if what == "action" and (name.startswith("_") or keyword.iskeyword(name)):
        raise DefinitionError(f"action name {name!r} can't be called as a method; use a plain public name.")


class Registry:
    """The actors an engine runs, by name."""

    def __init__(self, actors: Mapping[str, ActorDefinition]) -> None:
        self.actors = dict(actors)

    def __iter__(self) -> Iterator[str]:
        return iter(self.actors)

    def get(self, name: str) -> ActorDefinition:
        """The definition of this name. Raises RivetError ``actor.not_configured``, naming the nearest."""
        definition = self.actors.get(name)
        if definition is None:
            raise RivetError(
                "actor",
                "not_configured",
                f"No actor {name!r} in the registry. {did_you_mean(name, self.actors)}",
                {"name": name},
                404,
            )
        return definition


def setup(*, use: Mapping[str, ActorDefinition]) -> Registry:
    """Make the registry an engine runs: ``setup(use={"counter": counter})``.

    Raises `DefinitionError` for bad names and for things that are not actors.
    """
    if not isinstance(use, Mapping) or not use:
        raise DefinitionError('setup(use={"name": actor(…)}) needs at least one actor.')
    for name, definition in use.items():
        _check_name("actor", name)
        if not isinstance(definition, ActorDefinition):
            raise DefinitionError(f"actor {name!r} is {definition!r}; define it with actor(…).")
    return Registry(use)
