"""The state of one actor: the object user code changes, and the bytes that are durable."""

from __future__ import annotations

import hashlib
from itertools import repeat

from rivetpy import codec
from rivetpy.codec import Value
from rivetpy.errors import EncodeError, RivetError
from rivetpy.state import StateShape
from rivetpy.wire import jsonvalue


class StateCell:
    """Shared by actions and steps of one actor, which interleave at awaits."""

    def __init__(self, shape: StateShape, data: bytes) -> None:
        self._shape = shape
        #: What is stored, or on its way to be.
        self.data = data
        self.value = shape.restore(codec.decode(data))

    def change(self) -> bytes | None:
        """The state as bytes when it differs from what is stored, else None.

        Raises `EncodeError` naming the path, after putting the object back to what is stored: a state that can't be
        kept must not linger.
        """
        try:
            data = codec.encode(self.value)
        except EncodeError as error:
            self.value = self._shape.restore(codec.decode(self.data))
            raise EncodeError("state" + error.path.removeprefix("$"), error.problem) from None
        return None if data == self.data else data

    def renew(self) -> None:
        """Go on with a copy, of what is stored if need be: who holds the object changes nothing any more."""
        try:
            data = codec.encode(self.value)
        except (EncodeError, RuntimeError):  # the latter: it is being changed at this moment
            data = self.data
        self.value = self._shape.restore(codec.decode(data))

    def replace(self, plain: Value) -> None:
        """Take another state, checked against the actor's model. Raises RivetError ``actor.state_invalid``."""
        self.value = self._shape.checked(codec.reread(plain)[1])


def kept(before: Value, after: Value) -> Value:
    """``after``, and what it was ``before`` wherever nobody changed it.

    Who changes a state by hand has it as JSON, in which times, UUIDs and decimals are text.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        return {name: kept(before[name], value) if name in before else value for name, value in after.items()}
    if isinstance(before, list) and isinstance(after, list):
        moved = {jsonvalue.dumps(value): value for value in before}
        beside = [*before, *repeat(None, len(after))]
        return [
            moved[text] if (text := jsonvalue.dumps(value)) in moved else kept(old, value)
            for old, value in zip(beside, after, strict=False)
        ]
    return before if jsonvalue.dumps(before) == jsonvalue.dumps(after) else after


def revision(plain: Value) -> str:
    """A mark of what a state holds: who changes it by hand says which one they had before them."""
    return hashlib.sha256(codec.encode(plain)).hexdigest()[:16]


def problems(error: BaseException) -> str:
    """What a model's validation found, in one line."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(f"{'.'.join(map(str, each['loc'])) or '$'}: {each['msg']}" for each in error.errors())


def no_state(name: str) -> RivetError:
    """The error of an actor that has no state."""
    return RivetError(
        "actor",
        "state_not_enabled",
        f"Actor {name!r} has no state; define it with actor(state={{…}}).",
        status=400,
    )
