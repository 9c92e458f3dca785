"""What a table of a message may say: fields, how each travels, structs of them, unions of structs (wire 6, 7.2).

A message is a dataclass; its `Struct` lists the fields as they travel. What is None in an optional field is left
out. JSON and CBOR hold objects with the fields' names (trees), BARE the values one after the other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from rivetpy.errors import EncodeError
from rivetpy.wire import bare, cborvalue
from rivetpy.wire.tags import Json, JsonError, JsonObject, Notation, Value

M = TypeVar("M")

#: What is written; all from 1 on are read.
VERSION = 4


class TreeForm(Protocol):
    """What a field has to know about the tree it becomes a part of."""

    @property
    def notation(self) -> Notation: ...

    def wide(self, number: int) -> Json:
        """A number that JavaScript must read as BigInt."""


class Kind(Protocol):
    """How one field's value travels. ``check`` raises `JsonError` for what a tree may not hold there."""

    def write(self, out: bare.Writer, value: Value, version: int) -> None: ...
    def read(self, data: bare.Reader, version: int) -> Value: ...
    def tree(self, form: TreeForm, value: Value) -> Json: ...
    def check(self, value: Value, name: str) -> Value: ...


class _Text:
    def write(self, out: bare.Writer, value: str, version: int) -> None:
        out.text(value)

    def read(self, data: bare.Reader, version: int) -> str:
        return data.text()

    def tree(self, form: TreeForm, value: str) -> Json:
        return value

    def check(self, value: Value, name: str) -> str:
        if not isinstance(value, str):
            raise JsonError(f"'{name}' is a string, not {value!r:.40}.")
        return value


class _Flag:
    def write(self, out: bare.Writer, value: bool, version: int) -> None:
        out.flag(value)

    def read(self, data: bare.Reader, version: int) -> bool:
        return data.flag()

    def tree(self, form: TreeForm, value: bool) -> Json:
        return value

    def check(self, value: Value, name: str) -> bool:
        if not isinstance(value, bool):
            raise JsonError(f"'{name}' is true or false, not {value!r:.40}.")
        return value


class _Millis:
    """A duration; a number in trees, where clients may send fractions."""

    def write(self, out: bare.Writer, value: float, version: int) -> None:
        out.fixed(round(value), 8)

    def read(self, data: bare.Reader, version: int) -> int:
        return int(self.check(data.fixed(8), "timeout"))

    def tree(self, form: TreeForm, value: float) -> Json:
        return round(value)

    def check(self, value: Value, name: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
            raise JsonError(f"'{name}' is a number of milliseconds, not {value!r:.40}.")
        return value


class _Number:
    """An unsigned int. Where JavaScript insists on a BigInt (``wide``) trees hold one whatever its size."""

    def __init__(self, wide: bool) -> None:
        self._wide = wide

    def write(self, out: bare.Writer, value: int, version: int) -> None:
        out.uint(value)

    def read(self, data: bare.Reader, version: int) -> int:
        return data.uint()

    def tree(self, form: TreeForm, value: int) -> Json:
        return form.wide(value) if self._wide else value

    def check(self, value: Value, name: str) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 64:
            raise JsonError(f"'{name}' is an unsigned number of 64 bits, not {value!r:.40}.")
        return value


class _Data:
    """A user's value: CBOR with tags within BARE, in place in trees."""

    def write(self, out: bare.Writer, value: Value, version: int) -> None:
        out.blob(cborvalue.dumps(value))

    def read(self, data: bare.Reader, version: int) -> Value:
        return cborvalue.loads(data.blob())

    def tree(self, form: TreeForm, value: Value) -> Json:
        return form.notation.to_tree(value)

    def check(self, value: Value, name: str) -> Value:
        return value


TEXT, FLAG, MILLIS, DATA = _Text(), _Flag(), _Millis(), _Data()
UINT, BIG_UINT = _Number(wide=False), _Number(wide=True)


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its name on the wire, the dataclass's attribute, how it travels, and in which versions of BARE.

    ``null``: trees hold null where there is none, for readers that insist on the key. ``trees_only``: BARE has no
    place for it.
    """

    name: str
    attribute: str
    kind: Kind
    optional: bool = False
    since: int = 1
    until: int = VERSION
    null: bool = False
    trees_only: bool = False

    def in_bare(self, version: int) -> bool:
        return self.since <= version <= self.until and not self.trees_only


@contextlib.contextmanager
def _inside(field: Field) -> Iterator[None]:
    """The path of what can't be written begins at the message."""
    try:
        yield
    except EncodeError as error:
        raise EncodeError(f"$.{field.name}{error.path[1:]}", error.problem) from error


@dataclass(frozen=True)
class Struct(Generic[M]):
    """A dataclass and its fields in their order. Is itself a `Kind`, so structs may hold structs."""

    make: Callable[..., M]
    fields: Sequence[Field]
    #: The first version of BARE that has it.
    since: int = 1

    def write(self, out: bare.Writer, value: M, version: int) -> None:
        for field in self.fields:
            if field.in_bare(version):
                part = getattr(value, field.attribute)
                if field.optional:
                    out.flag(part is not None)
                if part is not None or not field.optional:
                    with _inside(field):
                        field.kind.write(out, part, version)

    def read(self, data: bare.Reader, version: int) -> M:
        parts: dict[str, Value] = {}
        for field in self.fields:
            if field.in_bare(version) and (not field.optional or data.flag()):
                parts[field.attribute] = field.kind.read(data, version)
        return self.make(**parts)

    def tree(self, form: TreeForm, value: M) -> JsonObject:
        tree: JsonObject = {}
        for field in self.fields:
            if field.until < VERSION:
                continue
            part = getattr(value, field.attribute)
            if part is not None or not field.optional:
                with _inside(field):
                    tree[field.name] = field.kind.tree(form, part)
            elif field.null:
                tree[field.name] = None
        return tree

    def check(self, value: Value, name: str) -> M:
        if not isinstance(value, dict):
            raise JsonError(f"{name} is an object, not {type(value).__name__}.")
        parts: dict[str, Value] = {}
        for field in self.fields:
            part = value.get(field.name)
            if part is not None or not (field.optional or field.until < VERSION):
                parts[field.attribute] = field.kind.check(part, field.name)
        return self.make(**parts)


@dataclass(frozen=True)
class Union(Generic[M]):
    """Messages of one direction of a socket; their number is their tag in BARE, their name elsewhere."""

    members: Sequence[tuple[str, type[M], Struct[Value]]]

    def of(self, message: M) -> tuple[int, str, Struct[Value]]:
        """Number, name and table of a message."""
        for number, (name, kind, struct) in enumerate(self.members):
            if type(message) is kind:
                return number, name, struct
        raise TypeError(f"{type(message).__name__} does not travel in this direction")
