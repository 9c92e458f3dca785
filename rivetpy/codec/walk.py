"""The slow way through a value: says where it can't be kept, or returns it made of plain parts."""

from __future__ import annotations

import enum
import inspect
import math
import reprlib

from rivetpy.codec.types import EXTENSIONS, PLAIN, Refused, Value, fields_of, is_record
from rivetpy.errors import EncodeError

#: Levels that are sure to be kept; deeper values may be refused.
MAX_DEPTH = 200


def walk(value: Value) -> Value:
    """The value made of plain parts only.

    Raises `EncodeError` with the path of the first part that can't be kept, RecursionError for one too deep.
    """
    return _walk(value, "$", set())


def _walk(value: Value, path: str, above: set[int]) -> Value:
    """`walk` below ``path``; ``above`` holds the ids of what the value lies in."""
    kind = type(value)
    if value is None or kind in (bool, int, bytes):
        return value
    if kind is float:
        if not math.isfinite(value):
            raise EncodeError(path, f"{value} has no JSON form; use None or a string.")
        return value
    if kind is str:
        try:
            value.encode()
        except UnicodeEncodeError:
            raise EncodeError(path, "a str with a lone surrogate is not valid Unicode text.") from None
        return value
    if id(value) in above:
        raise EncodeError(path, "the value contains itself; store a tree, not a cycle.")
    if len(above) >= MAX_DEPTH:
        raise EncodeError(f"{path[:40]}…", f"more than {MAX_DEPTH} levels deep.")
    above.add(id(value))
    try:
        return _walk_inside(value, path, above)
    finally:
        above.discard(id(value))


def _walk_inside(value: Value, path: str, above: set[int]) -> Value:
    if type(value) is dict:
        return _walk_dict(value, path, above)
    if type(value) is list:
        return [_walk(item, f"{path}[{index}]", above) for index, item in enumerate(value)]
    if type(value) in (set, frozenset):
        return _walk_set(value, path, above)
    if type(value) in EXTENSIONS and type(value) is not tuple:
        _check_extension(value, path)
        return value
    return _walk(_plainer(value, path), path, above)


def _walk_dict(value: dict[Value, Value], path: str, above: set[int]) -> dict[str, Value]:
    plain: dict[str, Value] = {}
    for key, item in value.items():
        text = _key(key, path, above)
        if text in plain:
            raise EncodeError(path, f"two keys become {reprlib.repr(text)}.")
        plain[text] = _walk(item, _step(path, text), above)
    return plain


def _key(key: Value, path: str, above: set[int]) -> str:
    text = key if type(key) is str else _plainer(key, path) if isinstance(key, str | enum.Enum) else None
    if not isinstance(text, str):
        raise EncodeError(path, f"the key {reprlib.repr(key)} is not a str; use str(key).")
    return str(_walk(text, path, above))


def _step(path: str, key: str) -> str:
    return f"{path}.{key}" if key.isidentifier() else f"{path}[{reprlib.repr(key)}]"


def _walk_set(value: set[Value] | frozenset[Value], path: str, above: set[int]) -> Value:
    plain = type(value)(_walk_member(member, f"{path}{{…}}", above) for member in value)
    if len(plain) != len(value):
        raise EncodeError(path, "two members of the set become equal.")
    return plain


def _walk_member(member: Value, path: str, above: set[int]) -> Value:
    if isinstance(member, tuple):
        parts = enumerate(tuple.__iter__(member))
        return tuple(_walk_member(part, f"{path}[{index}]", above) for index, part in parts)
    plain = _walk(member, path, above)
    if isinstance(plain, list | dict):
        raise EncodeError(
            path, "would come back as a list or dict, which no set can hold; use a list of them."
        )
    return plain


def _check_extension(value: Value, path: str) -> None:
    try:
        EXTENSIONS[type(value)](value)
    except Refused as refused:
        raise EncodeError(path, str(refused)) from None
    except Exception as error:  # a time zone of the user's, for one
        raise EncodeError(path, f"reading it raised {type(error).__name__}.") from error


def _plainer(value: Value, path: str) -> Value:
    """The value one step plainer: an enum's value, a record's fields, a subclass's native value."""
    try:
        if isinstance(value, enum.Enum):
            return value.value
        fields = fields_of(value)
        if fields:
            return fields(value)
        for native, convert in PLAIN.items():
            if isinstance(value, native) and not is_record(type(value)):
                return convert(value)
    except Exception as error:  # a property of the user's class
        raise EncodeError(path, f"reading it raised {type(error).__name__}.") from error
    if inspect.isawaitable(value):
        raise EncodeError(
            path, "a coroutine can't be stored; `await` is missing before the call that made it."
        )
    raise EncodeError(
        path,
        f"{type(value).__module__}.{type(value).__qualname__} can't be stored; "
        "turn it into JSON types, bytes, a datetime, UUID, Decimal, set, dataclass or model first.",
    )
