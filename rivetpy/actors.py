"""What a registry module says: actors, their queues, actions and workflow (spec actors 1, 2)."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import keyword
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, Unpack, overload

from rivetpy import hooks as hooking
from rivetpy.channels import EventDefinition, QueueDefinition
from rivetpy.codec import Value
from rivetpy.errors import DefinitionError, RivetError, did_you_mean
from rivetpy.hooks import Hooks
from rivetpy.state import AnyState, StateShape, state_shape
from rivetpy.workflow import ErrorHook, Workflow, WorkflowFunction, workflow

Action = Callable[..., Value]
#: A plain run handler: ``async def run(c)``.
RunLoop = Callable[..., Awaitable[Value]]
A = TypeVar("A", bound=Callable[..., Any])
W = TypeVar("W", bound=WorkflowFunction)
R = TypeVar("R", bound=RunLoop)

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
    create_vars_timeout: float = 5
    create_conn_state_timeout: float = 5
    #: For each of on_before_connect, on_connect and on_disconnect.
    on_connect_timeout: float = 5
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


class ActorDefinition:
    """One kind of actor. Built by `actor`; the decorators (`workflow`, `run_loop`, `action`, `hook`) add to it."""

    def __init__(
        self,
        *,
        shape: StateShape | None = None,
        create_state: Callable[..., Value] | None = None,
        vars: Value = None,
        conn_state: Value = None,
        db: bool = False,
        queues: dict[str, QueueDefinition] | None = None,
        events: dict[str, EventDefinition] | None = None,
        hooks: Hooks | None = None,
        options: ActorOptions | None = None,
    ) -> None:
        self.shape = shape
        self.create_state = create_state
        self.vars = vars
        self.conn_state = conn_state
        self.db = db
        self.queues = queues or {}
        self.events = events or {}
        self.hooks: Hooks = hooks or {}
        self.options = options or ActorOptions()
        self.actions: dict[str, Action] = {}
        self.run: Workflow | None = None
        #: The run handler that is no workflow.
        self.loop: RunLoop | None = None

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
            self._set_run(workflow(function, on_error=on_error))
            return function

        return set_run if function is None else set_run(function)

    def run_loop(self, function: R) -> R:
        """Decorator: make this ``async def run(c)`` the actor's run handler; it begins anew at every wake."""
        self._set_run(function)
        return function

    def _set_run(self, run: Workflow | RunLoop) -> None:
        taken = self.loop if self.run is None else self.run.function
        if taken is not None:
            raise DefinitionError(
                f"this actor has a run handler already: {getattr(taken, '__qualname__', taken)}."
            )
        if isinstance(run, Workflow):
            self.run = run
        elif inspect.iscoroutinefunction(run) and not _takes_workflow_context(run):
            self.loop = run
        else:
            raise DefinitionError(
                f"run is workflow(fn) or an async def run(c), not {getattr(run, '__qualname__', repr(run))}: "
                "write run=workflow(…)."
            )

    def hook(self, function: A) -> A:
        """Decorator: add this function as the hook of its name: on_wake, create_vars, …"""
        name = function.__name__
        if name not in hooking.NAMES:
            raise DefinitionError(f"There is no hook {name!r}. {did_you_mean(name, hooking.NAMES)}")
        if name in self.hooks:
            raise DefinitionError(f"hook {name} is defined twice.")
        hooking.check(name, function)
        self._check_hook(name)
        self.hooks[name] = function  # type: ignore[literal-required] # it is one of them
        return function

    def _check_hook(self, name: str) -> None:
        if name == "on_migrate" and not self.db:
            raise DefinitionError("on_migrate is for the actor's database: write actor(db=True, …).")
        given = {"create_vars": self.vars, "create_conn_state": self.conn_state}.get(name)
        if given is not None:
            raise DefinitionError(f"give {name.removeprefix('create_')} or {name}, not both.")

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

    def find_action(self, name: str) -> Action:
        """The action of this name. Raises RivetError ``actor.action_not_found``, naming the nearest."""
        function = self.actions.get(name)
        if function is None:
            raise RivetError(
                "actor",
                "action_not_found",
                f"Action `{name}` was not found. {did_you_mean(name, self.actions)}",
                {"action": name},
            )
        return function

    def add_action(self, name: str, function: Action) -> None:
        """Add an action; `DefinitionError` for a bad name, a name used twice or something not callable."""
        check_name("action", name)
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
    vars: Value = None,
    conn_state: Value = None,
    db: bool = False,
    queues: Mapping[str, QueueDefinition] | None = None,
    events: Mapping[str, EventDefinition] | None = None,
    actions: Mapping[str, Action] | None = None,
    run: Workflow | RunLoop | None = None,
    options: ActorOptions | None = None,
    **hooks: Unpack[Hooks],
) -> ActorDefinition:
    """Define a kind of actor (spec actors 2).

    ``state`` is a dict, or a dataclass, pydantic model or msgspec struct (class or instance);
    ``create_state(c, input)`` makes it per actor instead. ``run`` is `workflow` (fn), or a plain
    ``async def run(c)``. ``db``: the actor has an SQLite database of its own. ``vars`` and ``conn_state`` are copied
    for every life of an actor and every connection; the rest are the hooks of `Hooks`.

    Raises `DefinitionError` with the rule and the fix for anything that could not work.
    """
    for name in hooks:
        if name not in hooking.NAMES:
            raise DefinitionError(f"actor(…) has no option {name!r}. {did_you_mean(name, _OPTIONS)}")
    if state is not None and create_state is not None:
        raise DefinitionError("give state or create_state, not both.")
    if create_state is not None and not callable(create_state):
        raise DefinitionError(f"create_state is a function (c, input), not {create_state!r}.")
    if options is not None and not isinstance(options, ActorOptions):
        raise DefinitionError(f"options is ActorOptions(…), not {options!r}.")
    if not isinstance(db, bool):
        raise DefinitionError(f"db is True for an SQLite database of the actor's own, not {db!r}.")
    definition = ActorDefinition(
        shape=state_shape(state) if state is not None else AnyState() if create_state is not None else None,
        create_state=create_state,
        vars=_copyable("vars", vars),
        conn_state=_copyable("conn_state", conn_state),
        db=db,
        queues=_declared("queue", queues or {}, QueueDefinition),
        events=_declared("event", events or {}, EventDefinition),
        hooks=hooking.checked(hooks),
        options=options,
    )
    for name in hooks:
        definition._check_hook(name)
    _by_name("action", actions or {})
    for name, function in (actions or {}).items():
        definition.add_action(name, function)
    if run is not None:
        definition._set_run(run)
    return definition


_OPTIONS = [
    name
    for name, parameter in inspect.signature(actor).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
] + list(hooking.NAMES)


def _copyable(name: str, value: Value) -> Value:
    """A default that every actor gets a copy of, so that no two share it."""
    try:
        return copy.deepcopy(value)
    except Exception as error:
        raise DefinitionError(
            f"{name} can't be copied for every actor ({error}); make it in create_{name} instead."
        ) from None


D = TypeVar("D", QueueDefinition, EventDefinition)


def _takes_workflow_context(function: RunLoop) -> bool:
    """Whether a run handler was meant to be a workflow, as its annotation says."""
    return any("WorkflowContext" in str(kind) for kind in function.__annotations__.values())


def _by_name(what: str, given: object) -> None:
    if not isinstance(given, Mapping):
        raise DefinitionError(f"{what}s are a dict by name, {{'name': {what}(…)}}, not {given!r}.")


def _declared(what: str, given: Mapping[str, D], kind: type[D]) -> dict[str, D]:
    _by_name(what, given)
    for name, definition in given.items():
        check_name(what, name)
        if not isinstance(definition, kind):
            raise DefinitionError(f"{what} {name!r} is {definition!r}; write {name!r}: {what}().")
    return dict(given)


def check_name(what: str, name: object) -> None:
    """Raise `DefinitionError` for a name that an actor, queue, event or action can't have."""
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
