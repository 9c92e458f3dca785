"""The shape of an actor's state: how it begins and how stored bytes become the object user code sees."""

from __future__ import annotations

import dataclasses
import json
from typing import Protocol

from rivetpy import codec
from rivetpy.codec import Value
from rivetpy.errors import DefinitionError, EncodeError, RivetError


class StateShape(Protocol):
    """Makes state objects; each call returns one that nothing else refers to."""

    def initial(self) -> Value:
        """The state of a new actor."""
        ...

    def restore(self, plain: Value) -> Value:
        """The object for a stored value. Raises RivetError ``actor.state_invalid``."""
        ...

    def checked(self, plain: Value) -> Value:
        """The object for a value that somebody else than the actor's code puts there. Raises the same."""
        ...


class PlainState:
    """A dict of JSON-like values: copied for every actor by way of its stored form."""

    def __init__(self, default: dict[str, Value]) -> None:
        try:
            self._data = codec.encode(default)
        except EncodeError as error:
            raise DefinitionError(f"state: {error.message}") from None

    def initial(self) -> Value:
        return codec.decode(self._data)

    def restore(self, plain: Value) -> Value:
        return plain

    def checked(self, plain: Value) -> Value:
        if not isinstance(plain, dict):
            raise RivetError("actor", "state_invalid", f"$: it is an object, not {type(plain).__name__}")
        return plain


class AnyState:
    """Whatever ``create_state`` returns, as its stored form."""

    def initial(self) -> Value:
        raise AssertionError("create_state makes the initial state")

    def restore(self, plain: Value) -> Value:
        return plain

    def checked(self, plain: Value) -> Value:
        return plain


class ModelState:
    """A dataclass, pydantic model or msgspec struct: what is loaded is validated against the class as it is now."""

    def __init__(self, model: type, default: Value = None) -> None:
        self._model = model
        try:
            self._data = codec.encode(model() if default is None else default)
        except TypeError as error:
            raise DefinitionError(
                f"state={model.__name__}: {error}. Give every field a default, or pass an instance or create_state."
            ) from None
        except EncodeError as error:
            raise DefinitionError(f"state={model.__name__}: {error.message}") from None
        self._validate = _validator(model)

    def initial(self) -> Value:
        return self.restore(codec.decode(self._data))

    def restore(self, plain: Value) -> Value:
        try:
            return self._validate(plain)
        except Exception as error:
            raise RivetError(
                "actor",
                "state_invalid",
                f"The stored state does not fit {self._model.__qualname__}: {error}. Give new fields a default, "
                "keep the names of old ones, or destroy the actor.",
            ) from error

    def checked(self, plain: Value) -> Value:
        return self.restore(plain)


def state_shape(state: Value) -> StateShape:
    """The shape a definition's ``state`` asks for. Raises `DefinitionError` for anything else."""
    if isinstance(state, dict):
        return PlainState(state)
    if is_model(state):
        return ModelState(state)
    if is_model(type(state)):
        return ModelState(type(state), state)
    raise DefinitionError(
        f"state is a dict, or a dataclass, pydantic model or msgspec struct (the class or an instance), not {state!r}. "
        "For a state that depends on the input use create_state=fn(c, input)."
    )


def is_model(kind: object) -> bool:
    """Whether this is a class whose fields can be validated."""
    return isinstance(kind, type) and (
        dataclasses.is_dataclass(kind) or hasattr(kind, "model_fields") or hasattr(kind, "__struct_fields__")
    )


class Validate(Protocol):
    """Checks a plain value against a model and returns the object."""

    def __call__(self, plain: Value, /) -> Value: ...


def _validator(model: type) -> Validate:
    if hasattr(model, "__struct_fields__"):
        import msgspec  # the user's own dependency, or there would be no struct

        return lambda plain: msgspec.convert(plain, model)
    from pydantic import TypeAdapter

    return TypeAdapter(model).validate_python


def validator(model: Value) -> Validate:
    """A check of any annotation (a model, ``int``, ``list[str]``, …), for values that stay as they were sent.

    So nothing is converted: "5" is no int. What JSON has no type for may come as the text JSON has for it.
    """
    if isinstance(model, type) and hasattr(model, "__struct_fields__"):
        return _validator(model)
    from pydantic import TypeAdapter

    adapter = TypeAdapter(model)

    def check(plain: Value) -> Value:
        try:
            text = json.dumps(plain)
        except (
            TypeError
        ):  # bytes, a datetime, a set, …: strict would refuse the dict around it for a dataclass
            return adapter.validate_python(plain)
        return adapter.validate_json(text, strict=True)

    return check
