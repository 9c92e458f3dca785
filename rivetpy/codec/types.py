"""The types that are kept: how each becomes plain msgpack, and what it comes back as."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import functools
import uuid
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import msgpack

from rivetpy.errors import StoreError

#: A user's value: its type is the user's business.
Value = Any
Convert = Callable[[Value], Value]

_BIG_INT, _DATETIME, _DATE, _UUID, _DECIMAL, _SET, _FROZENSET = range(1, 8)


class Refused(Exception):
    """A value that the quick way can't judge, or that can't be kept; with the reason where it is known."""


def pack(value: Value) -> bytes:
    packed: bytes = msgpack.packb(value, default=_extend, strict_types=True)
    return packed


def _extend(value: Value) -> Value:
    """What msgpack asks about a type that isn't native."""
    convert = EXTENSIONS.get(type(value)) or fields_of(value)
    if convert is None:
        raise Refused
    return convert(value)


def _ext(code: int, data: bytes) -> msgpack.ExtType:
    return msgpack.ExtType(code, data)


def _big_int(value: int) -> msgpack.ExtType:
    return _ext(_BIG_INT, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def _datetime(value: dt.datetime) -> msgpack.ExtType:
    offset = value.utcoffset()
    if offset is None:
        raise Refused("a naive datetime; give it a zone, e.g. datetime.now(timezone.utc).")
    text = value.isoformat()
    zone = value.tzinfo
    if type(zone) is dt.timezone and not offset.microseconds:  # Python reads +00:00:00.000001 as UTC
        return _ext(_DATETIME, text.encode())
    if isinstance(zone, ZoneInfo) and zone.key:
        text = f"{text}[{zone.key}]"
    if _restore_datetime(text.encode()) != value:
        raise Refused("a datetime whose zone can't be kept; use value.astimezone(timezone.utc).")
    return _ext(_DATETIME, text.encode())


def _decimal(value: decimal.Decimal) -> msgpack.ExtType:
    if not value.is_finite():
        raise Refused(f"Decimal({str(value)!r}) is not a finite number.")
    return _ext(_DECIMAL, str(value).encode())


def _set(value: set[Value] | frozenset[Value]) -> msgpack.ExtType:
    # Sorted by their bytes, so equal sets have equal bytes and a state that did not change looks unchanged.
    return _ext(_FROZENSET if isinstance(value, frozenset) else _SET, b"".join(sorted(map(pack, value))))


EXTENSIONS: dict[type, Convert] = {
    tuple: list,
    int: _big_int,
    uuid.UUID: lambda value: _ext(_UUID, value.bytes),
    dt.datetime: _datetime,
    dt.date: lambda value: _ext(_DATE, value.isoformat().encode()),
    decimal.Decimal: _decimal,
    set: _set,
    frozenset: _set,
}

#: Subclasses that add behaviour, not content. The native type's own method reads them, whatever they override.
#: They go the slow way: as keys of a dict or in a set, two of them may become equal.
PLAIN: dict[type, Convert] = {
    str: str.__str__,
    bytes: bytes.__bytes__,
    bytearray: bytes,
    memoryview: bytes,
    int: int.__int__,
    float: float.__float__,
    dict: dict.copy,
    list: list.copy,
    tuple: lambda value: list(tuple.__iter__(value)),
}


def fields_of(value: Value) -> Convert | None:
    return _fields(type(value))  # type: ignore[arg-type]  # mypy takes a type for unhashable


@functools.lru_cache(maxsize=1024)
def _fields(kind: type) -> Convert | None:
    """How a record becomes a dict of its fields; None for a type that isn't one.

    Or that is a str, list, … as well: one of the two would be lost.
    """
    if not is_record(kind) or issubclass(kind, (enum.Enum, set, frozenset, *PLAIN)):
        return None
    if hasattr(kind, "model_fields"):
        return lambda model: {
            **{name: getattr(model, name) for name in kind.model_fields},
            **(getattr(model, "model_extra", None) or {}),
        }
    if dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind)]
    else:
        names = list(getattr(kind, "__struct_fields__"))  # noqa: B009 — of msgspec, which need not be there
    return lambda record: {name: getattr(record, name) for name in names}


def is_record(kind: type) -> bool:
    """Whether it is a dataclass, a pydantic model or a msgspec struct."""
    model = hasattr(kind, "model_fields") and hasattr(kind, "model_dump")
    return model or dataclasses.is_dataclass(kind) or hasattr(kind, "__struct_fields__")


def restore(code: int, data: bytes) -> Value:
    if code not in _RESTORE:
        raise StoreError("newer_format", f"A stored value has the unknown type {code}. Upgrade rivetpy.")
    return _RESTORE[code](data)


def _restore_datetime(data: bytes) -> dt.datetime:
    text, _, key = data.decode().partition("[")
    value = dt.datetime.fromisoformat(text)
    if not key:
        return value
    try:
        zone = ZoneInfo(key[:-1])
    except Exception:  # this machine doesn't know the zone: the moment is the same
        return value
    for fold in (0, 1):
        local = value.replace(tzinfo=zone, fold=fold)
        if local.utcoffset() == value.utcoffset():
            return local
    return value  # the zone's rules have changed since: the moment is what was meant


def _members(data: bytes) -> list[Value]:
    unpacker = msgpack.Unpacker(ext_hook=restore, use_list=False, max_buffer_size=len(data))
    unpacker.feed(data)
    return list(unpacker)


_RESTORE: dict[int, Callable[[bytes], Value]] = {
    _BIG_INT: lambda data: int.from_bytes(data, "big", signed=True),
    _DATETIME: _restore_datetime,
    _DATE: lambda data: dt.date.fromisoformat(data.decode()),
    _UUID: lambda data: uuid.UUID(bytes=bytes(data)),
    _DECIMAL: lambda data: decimal.Decimal(data.decode()),
    _SET: lambda data: set(_members(data)),
    _FROZENSET: lambda data: frozenset(_members(data)),
}
