"""User values as JSON text and back: the compat tags of wire section 8, and JSON that every parser accepts.

What JSON has no form for travels as a pair ``["$Tag", payload]``; a real list that looks like one is escaped
with one more ``$``. Times, dates, UUIDs and Decimals become their text. What can't be stored can't be sent
either, and is refused by the same rule and with the same path (`rivetpy.codec`).
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from typing import Any

from rivetpy.errors import EncodeError, RivetError

#: A user's value, as in `rivetpy.codec` (which costs more to import than the command line can pay).
Value = Any
#: What the json module makes and takes.
Json = dict[str, Any] | list[Any] | str | int | float | bool | None
JsonObject = dict[str, Any]

#: A JavaScript number is exact up to here; beyond, an int travels as text.
MAX_EXACT = 2**53
MAX_DEPTH = 200
MAX_DIGITS = 4000


class JsonError(RivetError):
    """A text that is not JSON, or JSON that stands for no value; the message says where."""

    def __init__(self, problem: str) -> None:
        super().__init__("actor", "invalid_request", problem, status=400)


class _Refused(Exception):
    """The quick walk met something it can't judge; the codec finds the place."""


def dumps(value: Value) -> bytes:
    """The value as JSON text. Raises `EncodeError` with the path of what has no JSON form."""
    try:
        return encode(_plain(value, MAX_DEPTH))
    except (_Refused, ValueError):
        return encode(_slow(value))


def loads(data: bytes) -> Value:
    """The value that JSON text stands for. Raises `JsonError`."""
    tree = parse(data)
    if b"$" in data or b"\\u" in data or data.count(b"[") + data.count(b"{") > MAX_DEPTH:
        return from_json(tree)
    return tree  # no tag, no lone surrogate and no depth can hide in it


def to_json(value: Value) -> Json:
    """The value as a tree of JSON types. Raises `EncodeError` with the path of what has no JSON form."""
    try:
        return _plain(value, MAX_DEPTH)
    except _Refused:
        return _slow(value)


def from_json(tree: Json) -> Value:
    """The inverse of `to_json`, as far as JSON tells. Raises `JsonError` for a tag nobody knows."""
    return _revive(tree, MAX_DEPTH)


def encode(tree: Json) -> bytes:
    """A JSON tree as text. Raises ValueError for NaN, infinities and lone surrogates."""
    return _ENCODER.encode(tree).encode()


def parse(data: bytes) -> Json:
    """JSON text as a tree, its tags left alone.

    Raises `JsonError` for what is not JSON (with line and column), NaN, numbers too big, a key given twice.
    """
    try:
        tree: Json = _DECODER.decode(data.decode())
    except UnicodeDecodeError as error:
        raise JsonError(f"The JSON is not UTF-8: {error.reason} at byte {error.start}.") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise JsonError(f"This is not JSON: {error.msg} at {where}.") from None
    except RecursionError:
        raise JsonError(f"The JSON is nested too deep; {MAX_DEPTH} levels are allowed.") from None
    return tree


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise JsonError(f"The number {text[:40]} is too big for a float.")
    return number


def _int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise JsonError(f"The number {text[:20]}… has {len(text)} digits; {MAX_DIGITS} are allowed.")
    return int(text)


def _constant(text: str) -> float:
    raise JsonError(f"{text} is not JSON; use null or a string.")


def _object(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise JsonError(f"The key {twice!r} is given twice in one object; which one is meant?")
    return found


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))
_DECODER = json.JSONDecoder(
    parse_float=_float, parse_int=_int, parse_constant=_constant, object_pairs_hook=_object
)


def _plain(value: Value, depth: int) -> Json:
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value  # type: ignore[no-any-return]
    if kind is int:
        return value if -MAX_EXACT <= value <= MAX_EXACT else ["$BigInt", str(value)]
    if depth == 0:
        raise _Refused
    if kind is dict:
        for key in value:
            if type(key) is not str:
                raise _Refused
        return {key: _plain(item, depth - 1) for key, item in value.items()}
    if kind is list or kind is tuple:
        items = [_plain(item, depth - 1) for item in value]
        if len(items) == 2 and type(items[0]) is str and items[0][:1] == "$":
            items[0] = "$" + items[0]
        return items
    convert = _CONVERTERS.get(kind.__name__)
    if convert is None:
        raise _Refused
    return convert(value, depth)


def _slow(value: Value) -> Json:
    """Models and enums become plain the way the codec makes them; what it refuses raises with its path."""
    from rivetpy import codec

    plain = codec.reread(value)[1]
    try:
        return _plain(plain, MAX_DEPTH)
    except _Refused:
        raise EncodeError(
            "$", f"more than {MAX_DEPTH} levels deep, or of a type without a JSON form."
        ) from None


def _from_float(value: Any, _: int) -> Json:
    if type(value) is not float or not math.isfinite(value):
        raise _Refused
    return value


def _from_bytes(value: Any, _: int) -> Json:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise _Refused
    return ["$Uint8Array", base64.b64encode(value).decode()]


def _from_set(value: Any, depth: int) -> Json:
    if not isinstance(value, set | frozenset):
        raise _Refused
    # In the order of their text, so that equal sets are equal JSON.
    return ["$Set", sorted((_plain(item, depth - 1) for item in value), key=_ENCODER.encode)]


def _from_time(value: Any, _: int) -> Json:
    import datetime as dt

    naive = type(value) is dt.datetime and value.utcoffset() is None
    if type(value) not in (dt.datetime, dt.date) or naive:
        raise _Refused
    return value.isoformat()  # type: ignore[no-any-return]


def _from_number(value: Any, _: int) -> Json:
    import decimal

    if type(value) is not decimal.Decimal or not value.is_finite():
        raise _Refused
    return str(value)


def _from_uuid(value: Any, _: int) -> Json:
    import uuid

    if type(value) is not uuid.UUID:
        raise _Refused
    return str(value)


#: By the type's name, so that types nobody uses need not be imported; each looks at the type itself again.
_CONVERTERS: dict[str, Callable[[Any, int], Json]] = {
    "float": _from_float,
    "bytes": _from_bytes,
    "bytearray": _from_bytes,
    "memoryview": _from_bytes,
    "set": _from_set,
    "frozenset": _from_set,
    "datetime": _from_time,
    "date": _from_time,
    "Decimal": _from_number,
    "UUID": _from_uuid,
}


def _revive(tree: Json, depth: int) -> Value:
    if isinstance(tree, str):
        if not tree.isascii() and _SURROGATE.search(tree):
            raise JsonError("A string holds a lone surrogate, which is not valid Unicode text.")
        return tree
    if not isinstance(tree, list | dict):
        return tree
    if depth == 0:
        raise JsonError(f"The JSON is nested too deep; {MAX_DEPTH} levels are allowed.")
    if isinstance(tree, dict):
        return {_revive(key, depth): _revive(item, depth - 1) for key, item in tree.items()}
    if len(tree) == 2 and isinstance(tree[0], str) and tree[0][:1] == "$":
        return _tagged(tree[0], tree[1], depth)
    return [_revive(item, depth - 1) for item in tree]


_SURROGATE = re.compile("[\ud800-\udfff]")
_INTEGER = re.compile(r"-?[0-9]+")


def _tagged(tag: str, payload: Json, depth: int) -> Value:
    if tag[:2] == "$$":
        return [tag[1:], _revive(payload, depth - 1)]
    if tag == "$Undefined":
        return None
    if tag == "$BigInt" and isinstance(payload, str) and _INTEGER.fullmatch(payload):
        return _int(payload)
    if tag in {"$Uint8Array", "$ArrayBuffer"} and isinstance(payload, str):
        return _bytes(tag, payload)
    if tag == "$Set" and isinstance(payload, list):
        return {_member(_revive(item, depth - 1)) for item in payload}
    raise JsonError(
        f"[{json.dumps(tag)}, …] is a tag nobody knows, or its payload does not fit; "
        f"a list that really begins so is written [{json.dumps('$' + tag)}, …]."
    )


def _bytes(tag: str, payload: str) -> bytes:
    try:
        return base64.b64decode(payload, validate=True)
    except ValueError:
        raise JsonError(f"The payload of {tag} is not base64.") from None


def _member(value: Value) -> Value:
    if isinstance(value, list):
        return tuple(map(_member, value))
    if isinstance(value, set):
        return frozenset(value)
    if isinstance(value, dict):
        raise JsonError("A set can't hold objects; use a list.")
    return value
