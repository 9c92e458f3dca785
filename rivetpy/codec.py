"""User values as bytes: msgpack with a version byte, and a refusal for whatever would come back changed.

The table (spec actors 4): None, bool, int of any size, float, str, bytes, list and dict with str keys are
native. Aware datetime, date, UUID, Decimal, set and frozenset are extension types and come back equal. Tuples come back
as lists, enums as their value, dataclasses and models as a dict of their fields. Everything else is refused
with the path to it. Nothing is ever pickled.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import math
import uuid
from collections.abc import Callable
from typing import Any

import msgpack

from rivetpy.errors import EncodeError, StoreError

#: A user's value: its type is the user's business.
Value = Any

VERSION = 1
_VERSION_BYTE = bytes([VERSION])
MAX_DEPTH = 200

_BIG_INT, _DATETIME, _DATE, _UUID, _DECIMAL, _SET, _FROZENSET = range(1, 8)


class _Refused(Exception):
    """The quick way met something it can't judge; the slow walk finds the place."""


def encode(value: Value) -> bytes:
    """The value as bytes.

    Raises `EncodeError` with the path of the first part that would not come back as it is.
    """
    return reread(value)[0]


def decode(data: bytes) -> Value:
    """The value that `encode` was given, as a fresh object each time.

    Raises `StoreError` ``newer_format`` for a version this release does not know.
    """
    if data[:1] != _VERSION_BYTE:
        raise StoreError(
            "newer_format",
            f"A stored value has format {data[0] if data else '?'}; this rivetpy reads format {VERSION}. "
            "Upgrade rivetpy.",
        )
    return msgpack.unpackb(memoryview(data)[1:], ext_hook=_restore)


def reread(value: Value) -> tuple[bytes, Value]:
    """The bytes of the value, and the value as a replay will see it (spec workflows 1).

    Raises `EncodeError` like `encode`.
    """
    try:
        packed = _pack(value)
        again = msgpack.unpackb(packed, ext_hook=_restore, object_hook=_text_keys)
    except (_Refused, TypeError, ValueError, OverflowError, RecursionError):
        # The walk names the place; when it finds nothing wrong, what it returns packs without surprises.
        packed = _pack(_walk(value, "$", set()))
        again = msgpack.unpackb(packed, ext_hook=_restore)
    if b"\xcb\x7f" in packed or b"\xcb\xff" in packed:  # what NaN and infinities begin with, and little else
        _walk(value, "$", set())
    return _VERSION_BYTE + packed, again


def _text_keys(mapping: dict[Any, Any]) -> dict[Any, Any]:
    for key in mapping:
        if key.__class__ is not str:
            raise _Refused
    return mapping


def _extend(value: Any) -> Any:
    """What msgpack asks about a type that isn't native."""
    convert = _EXTENSIONS.get(type(value)) or _converter(value)
    if convert is None:
        raise _Refused
    return convert(value)


def _pack(value: Any) -> bytes:
    packed: bytes = msgpack.packb(value, default=_extend, strict_types=True)
    return packed


def _ext(code: int, data: bytes) -> msgpack.ExtType:
    return msgpack.ExtType(code, data)


def _datetime(value: dt.datetime) -> msgpack.ExtType:
    if value.utcoffset() is None:
        raise _Refused
    return _ext(_DATETIME, value.isoformat().encode())


def _decimal(value: decimal.Decimal) -> msgpack.ExtType:
    if not value.is_finite():
        raise _Refused
    return _ext(_DECIMAL, str(value).encode())


def _set(value: set[Any] | frozenset[Any]) -> msgpack.ExtType:
    # Sorted by their bytes, so equal sets have equal bytes and a state that did not change looks unchanged.
    return _ext(_FROZENSET if isinstance(value, frozenset) else _SET, b"".join(sorted(map(_pack, value))))


_EXTENSIONS: dict[type, Callable[[Any], Any]] = {
    tuple: list,
    int: lambda value: _ext(_BIG_INT, str(value).encode()),
    uuid.UUID: lambda value: _ext(_UUID, value.bytes),
    dt.datetime: _datetime,
    dt.date: lambda value: _ext(_DATE, value.isoformat().encode()),
    decimal.Decimal: _decimal,
    set: _set,
    frozenset: _set,
    bytearray: bytes,
    memoryview: bytes,
}


def _converter(value: Any) -> Callable[[Any], Any] | None:
    """How a value whose exact type isn't in the table becomes plain."""
    if isinstance(value, enum.Enum):
        return lambda member: member.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return lambda record: {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    kind = type(value)
    if hasattr(kind, "model_fields") and hasattr(kind, "model_dump"):  # a pydantic model
        return lambda model: {name: getattr(model, name) for name in type(model).model_fields}
    if hasattr(kind, "__struct_fields__"):  # a msgspec struct
        return lambda struct: {name: getattr(struct, name) for name in type(struct).__struct_fields__}
    for plain in (str, dict, list):  # subclasses that add behaviour, not content
        if isinstance(value, plain):
            return plain
    if isinstance(value, tuple):
        return list
    return None


def _restore(code: int, data: bytes) -> Any:
    return _RESTORE[code](data) if code in _RESTORE else _unknown(code)


def _unknown(code: int) -> Any:
    raise StoreError("newer_format", f"A stored value has the unknown type {code}. Upgrade rivetpy.")


def _members(data: bytes) -> list[Any]:
    unpacker = msgpack.Unpacker(ext_hook=_restore, use_list=False)
    unpacker.feed(data)
    return list(unpacker)


_RESTORE: dict[int, Callable[[bytes], Any]] = {
    _BIG_INT: lambda data: int(data),
    _DATETIME: lambda data: dt.datetime.fromisoformat(data.decode()),
    _DATE: lambda data: dt.date.fromisoformat(data.decode()),
    _UUID: lambda data: uuid.UUID(bytes=bytes(data)),
    _DECIMAL: lambda data: decimal.Decimal(data.decode()),
    _SET: lambda data: set(_members(data)),
    _FROZENSET: lambda data: frozenset(_members(data)),
}


def _walk(value: Any, path: str, above: set[int]) -> Any:
    """Find what can't be kept and say where; returns the value with every part made plain."""
    if value is None or isinstance(value, bool | bytes) or type(value) is int:
        return value
    if type(value) is float:
        if not math.isfinite(value):
            raise EncodeError(path, f"{value} has no JSON form; use None or a string.")
        return value
    if type(value) is str:
        try:
            value.encode()
        except UnicodeEncodeError:
            raise EncodeError(path, "a str with a lone surrogate is not valid Unicode text.") from None
        return value
    if id(value) in above:
        raise EncodeError(path, "the value contains itself; store a tree, not a cycle.")
    if len(above) >= MAX_DEPTH:
        raise EncodeError(path, f"more than {MAX_DEPTH} levels deep.")
    above = above | {id(value)}
    if type(value) is dict:
        return {_key(key, path): _walk(item, _step(path, key), above) for key, item in value.items()}
    if type(value) in (list, tuple):
        return [_walk(item, f"{path}[{index}]", above) for index, item in enumerate(value)]
    if isinstance(value, set | frozenset):
        for member in value:
            if isinstance(_walk(member, f"{path}{{…}}", above), list | dict) and not isinstance(member, tuple):
                raise EncodeError(path, "a set of models or dataclasses does not come back as a set; use a list.")
        return value
    return _walk_other(value, path, above)


def _walk_other(value: Any, path: str, above: set[int]) -> Any:
    if isinstance(value, dt.datetime) and value.utcoffset() is None:
        raise EncodeError(path, "a naive datetime; give it a zone, e.g. datetime.now(timezone.utc).")
    if isinstance(value, decimal.Decimal) and not value.is_finite():
        raise EncodeError(path, f"Decimal({str(value)!r}) is not a finite number.")
    if type(value) in _EXTENSIONS:
        return value
    convert = _converter(value)
    if convert is not None:
        return _walk(convert(value), path, above)
    raise EncodeError(
        path,
        f"{type(value).__module__}.{type(value).__qualname__} can't be stored; "
        "turn it into JSON types, bytes, a datetime, UUID, Decimal, set, dataclass or model first.",
    )


def _key(key: Any, path: str) -> str:
    if isinstance(key, enum.Enum):
        key = key.value
    if not isinstance(key, str):
        raise EncodeError(path, f"the key {key!r} is not a str; use str({key!r}).")
    return str(_walk(str(key), path, set()))


def _step(path: str, key: Any) -> str:
    return f"{path}.{key}" if isinstance(key, str) and key.isidentifier() else f"{path}[{key!r}]"
