"""What a request to the inspector says: JSON bodies, numbers and text in the query. Pure."""

from __future__ import annotations

from urllib.parse import parse_qs

from rivetpy.wire.jsonvalue import JsonError, Value, loads


def json_object(body: bytes) -> dict[str, Value]:
    """The body. Raises `JsonError` for anything but a JSON object."""
    given = loads(body)
    if not isinstance(given, dict):
        raise JsonError(f"The body is a JSON object, not {type(given).__name__}.")
    return given


def text_in(given: dict[str, Value], name: str) -> str | None:
    """A string of a body, None when it isn't there. Raises `JsonError` for anything else."""
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise JsonError(f"'{name}' is a string.")
    return value


def texts(query: bytes, name: str) -> list[str]:
    """All values of a query parameter."""
    return parse_qs(query.decode("latin-1"), keep_blank_values=True).get(name, [])


def numbers(query: bytes, name: str) -> list[int]:
    """The same as numbers. Raises `JsonError`."""
    given = texts(query, name)
    if not all(text.isdecimal() and text.isascii() and len(text) < 16 for text in given):
        raise JsonError(f"'{name}' is a number.")
    return [int(text) for text in given]


def number(query: bytes, name: str) -> int | None:
    """A number, None when it isn't there. Raises `JsonError`."""
    return next(iter(numbers(query, name)), None)
