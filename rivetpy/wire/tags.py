"""User values as trees of plain types and back: the compat tags of wire section 8.

What a notation has no form for travels as a pair ``["$Tag", payload]``; a real list that looks like one is escaped
with one more ``$``. UUIDs, dates and Decimals become their text. What can't be stored can't be sent either, and is
refused by the same rule and with the same path (`rivetpy.codec`).
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
#: What the json module makes and takes; in CBOR also times.
Json = dict[str, Any] | list[Any] | str | int | float | bool | None
JsonObject = dict[str, Any]

#: A JavaScript number is exact up to here; beyond, an int travels as text.
MAX_EXACT = 2**53
MAX_DEPTH = 200
MAX_DIGITS = 4000


class JsonError(RivetError):
    """Bytes that are no value (not JSON, not CBOR, a tag nobody knows); the message says where."""

    def __init__(self, problem: str) -> None:
        super().__init__("actor", "invalid_request", problem, status=400)


class Refused(Exception):
    """The quick walk met something it can't judge; the codec finds the place."""


class Notation:
    """The trees of JSON. A notation that differs overrides what it writes and reads otherwise."""

    #: What the messages call it.
    name = "JSON"

    # -- value to tree

    def to_tree(self, value: Value) -> Json:
        """The value as a tree. Raises `EncodeError` with the path of what has no form in it."""
        try:
            return self.plain(value, MAX_DEPTH)
        except Refused:
            return self.slow(value)

    def slow(self, value: Value) -> Json:
        """Models and enums become plain the way the codec makes them; what it refuses raises with its path."""
        from rivetpy import codec

        plain = codec.reread(value)[1]
        try:
            return self.plain(plain, MAX_DEPTH)
        except Refused:
            raise EncodeError(
                "$", f"more than {MAX_DEPTH} levels deep, or of a type without a {self.name} form."
            ) from None

    def plain(self, value: Value, depth: int) -> Json:
        """The quick walk. Raises `Refused`."""
        kind = type(value)
        if kind is str or value is None or kind is bool:
            return value  # type: ignore[no-any-return]
        if kind is int:
            return self.write_int(value)
        if depth == 0:
            raise Refused
        if kind is dict:
            for key in value:
                if type(key) is not str:
                    raise Refused
            return {key: self.plain(item, depth - 1) for key, item in value.items()}
        if kind is list or kind is tuple:
            items = [self.plain(item, depth - 1) for item in value]
            if len(items) == 2 and type(items[0]) is str and items[0][:1] == "$":
                items[0] = "$" + items[0]
            return items
        convert = _CONVERTERS.get(kind.__name__)
        if convert is None:
            raise Refused
        return convert(self, value, depth)

    def write_int(self, value: int) -> Json:
        """An int; as text where a JavaScript number would not hold it."""
        return value if -MAX_EXACT <= value <= MAX_EXACT else big_int(value)

    def write_time(self, value: Value) -> Json:
        """An aware datetime."""
        return value.isoformat()  # type: ignore[no-any-return]

    # -- tree to value

    def from_tree(self, tree: Json) -> Value:
        """The inverse of `to_tree`, as far as the notation tells. Raises `JsonError`."""
        return self.revive(tree, MAX_DEPTH)

    def revive(self, tree: Json, depth: int) -> Value:
        """The value of a tree with at most ``depth`` levels."""
        if not isinstance(tree, list | dict):
            return self.read_scalar(tree)
        if depth == 0:
            raise JsonError(f"The {self.name} is nested too deep; {MAX_DEPTH} levels are allowed.")
        if isinstance(tree, dict):
            return {self.read_key(key): self.revive(item, depth - 1) for key, item in tree.items()}
        if len(tree) == 2 and isinstance(tree[0], str) and tree[0][:1] == "$":
            return self._tagged(tree[0], tree[1], depth)
        return [self.revive(item, depth - 1) for item in tree]

    def read_scalar(self, value: Value) -> Value:
        """What is neither list nor dict; a key, too."""
        if isinstance(value, str) and not value.isascii() and _SURROGATE.search(value):
            raise JsonError("A string holds a lone surrogate, which is not valid Unicode text.")
        return value

    def read_key(self, key: Value) -> str:
        """A key of an object."""
        return str(self.read_scalar(key))

    def read_unknown(self, pair: list[Json], depth: int) -> Value:
        """A pair that begins like a tag, but is none."""
        tag = json.dumps(pair[0])
        raise JsonError(
            f"[{tag}, …] is a tag nobody knows, or its payload does not fit; "
            f"a list that really begins so is written [{json.dumps('$' + str(pair[0]))}, …]."
        )

    def _tagged(self, tag: str, payload: Json, depth: int) -> Value:
        if tag[:2] == "$$":
            return [self.read_scalar(tag[1:]), self.revive(payload, depth - 1)]
        if tag == "$Undefined":
            return None
        if tag == "$BigInt" and isinstance(payload, str) and _INTEGER.fullmatch(payload):
            return read_int(payload)
        if tag in {"$Uint8Array", "$ArrayBuffer"} and isinstance(payload, str):
            return _bytes(tag, payload)
        if tag == "$Set" and isinstance(payload, list):
            return set_of([self.revive(item, depth - 1) for item in payload])
        return self.read_unknown([tag, payload], depth)


_SURROGATE = re.compile("[\ud800-\udfff]")
_INTEGER = re.compile(r"-?[0-9]+")


def big_int(value: int) -> Json:
    """An int as the pair that JavaScript clients read as BigInt."""
    return ["$BigInt", str(value)]


def read_int(text: str) -> int:
    """An int of bounded length; converting text takes time that grows with the square of it."""
    if len(text) > MAX_DIGITS:
        raise JsonError(f"The number {text[:20]}… has {len(text)} digits; {MAX_DIGITS} are allowed.")
    return int(text)


def set_of(items: list[Value]) -> set[Value]:
    """A set of what was read; lists in it become tuples. Raises `JsonError` for objects, which no set can hold."""
    return {_member(item) for item in items}


def _member(value: Value) -> Value:
    if isinstance(value, list):
        return tuple(map(_member, value))
    if isinstance(value, set):
        return frozenset(value)
    if isinstance(value, dict):
        raise JsonError("A set can't hold objects; use a list.")
    return value


def _bytes(tag: str, payload: str) -> bytes:
    try:
        return base64.b64decode(payload, validate=True)
    except ValueError:
        raise JsonError(f"The payload of {tag} is not base64.") from None


def _from_float(_: Notation, value: Value, depth: int) -> Json:
    if type(value) is not float or not math.isfinite(value):
        raise Refused
    return value


def _from_bytes(_: Notation, value: Value, depth: int) -> Json:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise Refused
    return ["$Uint8Array", base64.b64encode(value).decode()]


def _from_set(notation: Notation, value: Value, depth: int) -> Json:
    if not isinstance(value, set | frozenset):
        raise Refused
    # In the order of their text, so that equal sets are equal trees.
    return ["$Set", sorted((notation.plain(item, depth - 1) for item in value), key=_text)]


def _text(tree: Json) -> str:
    return json.dumps(tree, ensure_ascii=False, default=str)


def _from_time(notation: Notation, value: Value, depth: int) -> Json:
    import datetime as dt

    if type(value) is dt.datetime and value.utcoffset() is not None:
        return notation.write_time(value)
    if type(value) is dt.date:
        return value.isoformat()
    raise Refused


def _from_number(_: Notation, value: Value, depth: int) -> Json:
    import decimal

    if type(value) is not decimal.Decimal or not value.is_finite():
        raise Refused
    return str(value)


def _from_uuid(_: Notation, value: Value, depth: int) -> Json:
    import uuid

    if type(value) is not uuid.UUID:
        raise Refused
    return str(value)


#: By the type's name, so that types nobody uses need not be imported; each looks at the type itself again.
_CONVERTERS: dict[str, Callable[[Notation, Value, int], Json]] = {
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
