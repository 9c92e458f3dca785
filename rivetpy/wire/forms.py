"""Messages that travel in BARE only: dataclasses whose annotations say how each field is written (wire 9.3)."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, Protocol, TypeVar

from rivetpy.errors import EncodeError
from rivetpy.wire import bare
from rivetpy.wire.structs import FLAG, TEXT, UINT
from rivetpy.wire.tags import JsonError, Value

M = TypeVar("M")


class Form(Protocol):
    """How a value is written and read in a version of its protocol."""

    def write(self, out: bare.Writer, value: Value, version: int) -> None: ...
    def read(self, data: bare.Reader, version: int) -> Value: ...


class _Bytes:
    def write(self, out: bare.Writer, value: bytes, version: int) -> None:
        out.blob(value)

    def read(self, data: bare.Reader, version: int) -> bytes:
        return data.blob()


@dataclass(frozen=True)
class _Fixed:
    """An unsigned number of so many bytes."""

    size: int

    def write(self, out: bare.Writer, value: int, version: int) -> None:
        out.fixed(value, self.size)

    def read(self, data: bare.Reader, version: int) -> int:
        return data.fixed(self.size)


Uint = Annotated[int, UINT]
U8 = Annotated[int, _Fixed(1)]
U32 = Annotated[int, _Fixed(4)]
U64 = Annotated[int, _Fixed(8)]
Text = Annotated[str, TEXT]
Flag = Annotated[bool, FLAG]
#: Bytes in a form of their own, as a value in CBOR.
Data = Annotated[bytes, _Bytes()]


@dataclass(frozen=True)
class Versions:
    """In which versions a field is there."""

    first: int = 1
    last: int = 1 << 16


@dataclass(frozen=True)
class _Optional:
    of: Form

    def write(self, out: bare.Writer, value: Value, version: int) -> None:
        out.optional(value, lambda each: self.of.write(out, each, version))

    def read(self, data: bare.Reader, version: int) -> Value:
        return data.optional(lambda: self.of.read(data, version))


@dataclass(frozen=True)
class _List:
    of: Form

    def write(self, out: bare.Writer, value: list[Value], version: int) -> None:
        out.items(value, lambda each: self.of.write(out, each, version))

    def read(self, data: bare.Reader, version: int) -> list[Value]:
        return data.items(lambda: self.of.read(data, version))


@dataclass(frozen=True)
class _Map:
    """By text."""

    of: Form

    def write(self, out: bare.Writer, value: Mapping[str, Value], version: int) -> None:
        out.uint(len(value))
        for name, each in value.items():
            out.text(name)
            self.of.write(out, each, version)

    def read(self, data: bare.Reader, version: int) -> dict[str, Value]:
        return dict(data.items(lambda: (data.text(), self.of.read(data, version))))


@dataclass(frozen=True)
class _Union:
    """One of several types, told apart by its number."""

    members: Sequence[tuple[type, Form]]

    def write(self, out: bare.Writer, value: Value, version: int) -> None:
        for number, (kind, form) in enumerate(self.members):
            if type(value) is kind:
                out.uint(number)
                form.write(out, value, version)
                return
        raise TypeError(f"{type(value).__name__} is none of {[kind.__name__ for kind, _ in self.members]}")

    def read(self, data: bare.Reader, version: int) -> Value:
        number = data.uint()
        if number >= len(self.members):
            raise JsonError(f"There is a number below {len(self.members)} here, not {number}.")
        return self.members[number][1].read(data, version)


class Struct(Generic[M]):
    """A dataclass: its fields, one after the other."""

    def __init__(self, make: type[M]) -> None:
        self._make = make
        hints = typing.get_type_hints(make, include_extras=True)
        self._fields = [
            (field.name, form_of(hints[field.name]), _versions(hints[field.name]))
            for field in dataclasses.fields(make)  # type: ignore[arg-type]
        ]

    def write(self, out: bare.Writer, value: M, version: int) -> None:
        for name, form, there in self._fields:
            if there.first <= version <= there.last:
                form.write(out, getattr(value, name), version)

    def read(self, data: bare.Reader, version: int) -> M:
        parts = {
            name: form.read(data, version)
            for name, form, there in self._fields
            if there.first <= version <= there.last
        }
        return self._make(**parts)


def form_of(hint: Value) -> Form:
    """What an annotation says. Raises TypeError for one that says nothing."""
    origin, args = _parts(hint)
    if origin is Annotated:
        return next((extra for extra in args[1:] if hasattr(extra, "write")), None) or form_of(args[0])
    if origin in {typing.Union, types.UnionType}:
        members = [each for each in args if each is not types.NoneType]
        if len(members) < len(args):
            return _Optional(form_of(members[0]))
        return _Union([(_plain(each), form_of(each)) for each in members])
    if origin is list:
        return _List(form_of(args[0]))
    if origin is dict:
        return _Map(form_of(args[1]))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return Struct(hint)
    raise TypeError(f"{hint!r} says nothing about how it is written")


def _parts(hint: Value) -> tuple[Value, tuple[Value, ...]]:
    return typing.get_origin(hint), typing.get_args(hint)


def _plain(hint: Value) -> type:
    origin, args = _parts(hint)
    plain: type = args[0] if origin is Annotated else hint
    return plain


def _versions(hint: Value) -> Versions:
    origin, args = _parts(hint)
    extras = args[1:] if origin is Annotated else ()
    return next((extra for extra in extras if isinstance(extra, Versions)), Versions())


class Messages(Generic[M]):
    """The messages of one direction: in each version the types there are, in the order of their numbers."""

    def __init__(self, by_version: Mapping[int, Sequence[type[M]]]) -> None:
        self._types = by_version
        self._unions = {
            version: _Union([(each, Struct(each)) for each in members])
            for version, members in by_version.items()
        }

    def has(self, kind: type[M], version: int) -> bool:
        """Whether a version knows this type."""
        return kind in self._types[version]

    def write(self, message: M, version: int) -> bytes:
        """The message's bytes. Raises `EncodeError` for text that is not valid Unicode."""
        out = bare.Writer()
        try:
            self._unions[version].write(out, message, version)
        except UnicodeEncodeError:
            raise EncodeError("$", "a str with a lone surrogate is not valid Unicode text.") from None
        return bytes(out.data)

    def read(self, data: bytes, version: int) -> M:
        """The message that bytes are. Raises RivetError ``actor.invalid_request``."""
        source = bare.Reader(data)
        message: M = self._unions[version].read(source, version)
        source.end()
        return message


def without(members: tuple[type[M], ...], *gone: type[M]) -> tuple[type[M], ...]:
    """The types that an older version knew of those of a newer one."""
    return tuple(each for each in members if each not in gone)
