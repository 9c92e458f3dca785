"""User values as JSON text and back: the tags of `rivetpy.wire.tags`, and JSON that every parser accepts.

In JSON times become their text, too.
"""

from __future__ import annotations

import json
import math
from typing import Any

from rivetpy.wire.tags import (
    MAX_DEPTH,
    MAX_EXACT,
    Json,
    JsonError,
    JsonObject,
    Notation,
    Refused,
    Value,
    read_int,
)

__all__ = [
    "JSON",
    "MAX_DEPTH",
    "MAX_EXACT",
    "Json",
    "JsonError",
    "JsonObject",
    "Value",
    "dumps",
    "encode",
    "from_json",
    "loads",
    "parse",
    "to_json",
]

JSON = Notation()


def dumps(value: Value) -> bytes:
    """The value as JSON text. Raises `EncodeError` with the path of what has no JSON form."""
    try:
        return encode(JSON.plain(value, MAX_DEPTH))
    except (Refused, ValueError):
        return encode(JSON.slow(value))


def loads(data: bytes) -> Value:
    """The value that JSON text stands for. Raises `JsonError`."""
    tree = parse(data)
    if b"$" in data or b"\\u" in data or data.count(b"[") + data.count(b"{") > MAX_DEPTH:
        return from_json(tree)
    return tree  # no tag, no lone surrogate and no depth can hide in it


def to_json(value: Value) -> Json:
    """The value as a tree of JSON types. Raises `EncodeError` with the path of what has no JSON form."""
    return JSON.to_tree(value)


def from_json(tree: Json) -> Value:
    """The inverse of `to_json`, as far as JSON tells. Raises `JsonError` for a tag nobody knows."""
    return JSON.from_tree(tree)


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
    parse_float=_float, parse_int=read_int, parse_constant=_constant, object_pairs_hook=_object
)
