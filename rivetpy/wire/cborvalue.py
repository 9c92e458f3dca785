"""User values as CBOR and back, as JavaScript's cbor-x writes and reads it (wire 8).

Ints that are 32 bits wide or less are ints, up to 2^53 floats (a 64-bit head would become a BigInt), and beyond
text with a tag. Times are epoch seconds: the instant comes back, in UTC. Read are, besides, what only JavaScript
writes: BigInts, undefined, Map, Set, typed arrays (bytes for those of bytes, else lists), RegExp and Error (dicts of
their parts). NaN and the infinities are refused, as everywhere.
"""

from __future__ import annotations

import functools
import io
import math
import struct
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Protocol

from rivetpy.errors import EncodeError
from rivetpy.wire.tags import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_EXACT,
    Json,
    JsonError,
    Notation,
    Value,
    big_int,
    set_of,
)

_WORD = 1 << 32
#: What makes a value of what a tag stands before.
Reader = Callable[[Value], Value]


class CborNotation(Notation):
    """The trees that cbor2 makes and takes."""

    name = "CBOR"

    def write_int(self, value: int) -> Json:
        if -_WORD <= value < _WORD:
            return value
        return float(value) if -MAX_EXACT <= value <= MAX_EXACT else big_int(value)

    def write_time(self, value: Value) -> Json:
        return value  # type: ignore[no-any-return]  # cbor2 knows it

    def read_scalar(self, value: Value) -> Value:
        if isinstance(value, float):
            return _read_float(value)
        if value is _cbor2().undefined:
            return None
        if isinstance(value, _cbor2().CBORSimpleValue):
            raise JsonError(f"The CBOR holds the simple value {value.value}, which stands for nothing.")
        return value  # text was checked while it was read

    def read_key(self, key: Value) -> str:
        if not isinstance(key, str):
            raise JsonError(f"A map's keys are text, not {type(key).__name__}.")
        return key


class PlainCborNotation(CborNotation):
    """The trees of clients that write CBOR without tags: what looks like an unknown tag is a list."""

    def read_unknown(self, pair: list[Json], depth: int) -> Value:
        return [self.revive(item, depth - 1) for item in pair]


CBOR = CborNotation()
PLAIN_CBOR = PlainCborNotation()


class _Encoder(Protocol):
    def write(self, data: bytes, /) -> object: ...


class Wide:
    """An unsigned int whose head has 64 bits, so that JavaScript reads a BigInt whatever its size."""

    def __init__(self, value: int) -> None:
        self.value = value


def wide(value: int) -> Json:
    """A leaf of a tree that is such a number."""
    return Wide(value)  # type: ignore[return-value]  # cbor2 asks `_write_wide` about it


def dumps(value: Value) -> bytes:
    """The value as CBOR. Raises `EncodeError` with the path of what has no form in it."""
    try:
        return encode(CBOR.to_tree(value))
    except UnicodeEncodeError:
        return encode(CBOR.slow(value))  # says where


def loads(data: bytes, notation: CborNotation = CBOR) -> Value:
    """The value that CBOR stands for. Raises `JsonError`."""
    return notation.from_tree(parse(data))


def encode(tree: Json) -> bytes:
    """A CBOR tree as bytes. Raises UnicodeEncodeError for lone surrogates."""
    try:
        done: bytes = _cbor2().dumps(tree, datetime_as_timestamp=True, default=_write_wide)
    except _cbor2().CBOREncodeError as error:
        raise EncodeError("$", f"can't be sent ({error}).") from error
    return done


def parse(data: bytes) -> Json:
    """CBOR as a tree, its pairs with ``$`` left alone. Raises `JsonError`.

    Tags that refer to other parts of the data, or stand for more than they hold, are refused: no data means more
    work than its length.
    """
    stream = io.BytesIO(data)
    try:
        tree: Json = _cbor2().load(
            stream,
            semantic_decoders=_TAGS,
            max_depth=MAX_DEPTH,
            allow_duplicate_keys=False,
            strict_hashable_types=True,
        )
    except Exception as error:  # cbor2's own, and whatever a tag's reader stumbled over
        cause = error.__cause__
        raise cause if isinstance(cause, JsonError) else JsonError(f"This is not CBOR: {error}.") from None
    if stream.tell() < len(data):
        raise JsonError(f"Something follows the CBOR at byte {stream.tell()}.")
    return tree


@functools.cache
def _cbor2() -> ModuleType:
    """Imported late: the command line can do without."""
    import cbor2

    return cbor2


def _write_wide(encoder: _Encoder, value: object) -> None:
    if not isinstance(value, Wide):
        raise TypeError(f"{type(value).__name__} has no CBOR form")
    encoder.write(b"\x1b" + value.value.to_bytes(8))


def _read_float(value: float) -> Value:
    if not math.isfinite(value):
        raise JsonError(f"{value} has no JSON form; send null or a string.")
    # JavaScript has one type of number, and cbor-x writes its ints of more than 32 bits so.
    return int(value) if _WORD <= abs(value) <= MAX_EXACT and value.is_integer() else value


def _time(seconds: Value) -> Value:
    import datetime as dt

    if type(seconds) not in (int, float):
        raise JsonError("A time in CBOR is a number of seconds.")
    try:
        if abs(seconds) < 1 << 33:
            return dt.datetime.fromtimestamp(seconds, dt.UTC)
        # Beyond the year 2242 a float no longer tells microseconds apart; JavaScript's milliseconds it does.
        return dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(milliseconds=round(seconds * 1000))
    except (ValueError, OverflowError, OSError):
        raise JsonError(f"The time {seconds!r} is outside the years 1 to 9999.") from None


def _time_text(text: Value) -> Value:
    import datetime as dt

    try:
        when = dt.datetime.fromisoformat(text)
    except (ValueError, TypeError):
        raise JsonError(f"The time {text!r} is no ISO 8601 text.") from None
    if when.utcoffset() is None:
        raise JsonError(f"The time {text!r} has no zone.")
    return when


def _big(sign: int) -> Reader:
    def read(data: Value) -> Value:
        if not isinstance(data, bytes) or len(data) > MAX_DIGITS // 3:
            raise JsonError(f"A big number in CBOR has up to {MAX_DIGITS // 3} bytes.")
        number = int.from_bytes(data)
        return number if sign > 0 else -1 - number

    return read


def _set(items: Value) -> Value:
    if not isinstance(items, list):
        raise JsonError("A set in CBOR is a list of its members.")
    return set_of([_member(item) for item in items])


def _member(item: Value) -> Value:
    """Members are revived here: a set, once made, is a leaf of the tree."""
    return CBOR.revive(item, MAX_DEPTH)


def _map(pairs: Value) -> Value:
    if not isinstance(pairs, dict):
        raise JsonError("A Map in CBOR is a map.")
    return pairs


def _numbers(code: str) -> Reader:
    """A typed array as a list; ``code`` is that of `struct`, with the byte order."""

    def read(data: Value) -> Value:
        size = struct.calcsize(code)
        if not isinstance(data, bytes) or len(data) % size:
            raise JsonError(f"A typed array of {size} bytes each has a part of one too many.")
        return [item for (item,) in struct.iter_unpack(code, data)]

    return read


def _object(parts: Value) -> Value:
    """What cbor-x makes of instances of JavaScript's own classes."""
    match parts:
        case ["RegExp", str(source), *flags]:
            return {"source": source, "flags": flags[0] if flags else ""}
        case [str(name), str(message)]:
            return {"name": name, "message": message}
    raise JsonError("The CBOR holds an object of a class that is not known here; send a plain object.")


def _same(value: Value) -> Value:
    return value


class _Tags(Mapping[int, Callable[[Value, bool], Value]]):
    """What reads a tag: of those that are not listed, a reader that refuses."""

    def __getitem__(self, tag: int) -> Callable[[Value, bool], Value]:
        read = _READERS.get(tag)

        def read_tag(value: Value, immutable: bool) -> Value:
            if read is None:
                raise JsonError(f"The CBOR holds tag {tag}, which is not known here.")
            return read(value)

        return read_tag

    def __iter__(self) -> Iterator[int]:
        return iter(_READERS)

    def __len__(self) -> int:
        return len(_READERS)


_TAGS = _Tags()
#: Typed arrays of more than a byte, most significant byte first; 4 more is the tag of the other order (RFC 8746).
_ARRAYS = {65: "H", 66: "I", 67: "Q", 73: "h", 74: "i", 75: "q", 80: "e", 81: "f", 82: "d"}
_READERS: dict[int, Reader] = {
    0: _time_text,
    1: _time,
    2: _big(1),
    3: _big(-1),
    27: _object,
    64: _same,
    68: _same,
    72: _numbers("b"),
    258: _set,
    259: _map,
    55799: _same,
    **{tag: _numbers(f">{code}") for tag, code in _ARRAYS.items()},
    **{tag + 4: _numbers(f"<{code}") for tag, code in _ARRAYS.items()},
}
