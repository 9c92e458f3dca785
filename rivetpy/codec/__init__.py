"""User values as bytes: msgpack with a version byte, and a refusal for whatever would come back changed.

The table (spec actors 4): None, bool, int of any size, finite float, str, bytes, list and dict with str keys are
native. Aware datetime (with its zone), date, UUID, Decimal, set and frozenset are extension types and come back
equal. Tuples come back as lists (as tuples inside a set), bytearrays and memoryviews as bytes, enums as their value,
dataclasses and models as a dict of their fields, instances of subclasses of the native types as the native type.
Everything else is refused with the path to it. Nothing is ever pickled.

Nearly every value takes the quick way, which is all C: packed, unpacked, done. Whatever it stumbles over goes to
`walk`, which either says where the trouble is or returns the value made of plain parts only.
"""

from __future__ import annotations

import msgpack

from rivetpy.codec.types import Refused, Value, pack, restore
from rivetpy.codec.walk import MAX_DEPTH, walk
from rivetpy.errors import EncodeError, StoreError

__all__ = ["MAX_DEPTH", "VERSION", "Value", "decode", "encode", "reread"]

VERSION = 1
_VERSION_BYTE = bytes([VERSION])
#: What NaN and the infinities begin with, and little else.
_NOT_FINITE = (b"\xcb\x7f", b"\xcb\xff")


def encode(value: Value) -> bytes:
    """The value as bytes.

    Raises `EncodeError` with the path of the first part that would not come back as it is.
    """
    return reread(value)[0]


def decode(data: bytes) -> Value:
    """The value that `encode` was given, as a fresh object each time.

    Raises `StoreError`: ``newer_format`` for a version this release does not know, ``damaged``.
    """
    if data[:1] != _VERSION_BYTE:
        raise StoreError(
            "newer_format",
            f"A stored value has format {data[0] if data else '?'}; this rivetpy reads format {VERSION}. "
            "Upgrade rivetpy.",
        )
    try:
        return msgpack.unpackb(memoryview(data)[1:], ext_hook=restore)
    except StoreError:
        raise
    except Exception as error:
        raise StoreError(
            "damaged", f"A stored value can't be read ({type(error).__name__}: {error})."
        ) from error


def reread(value: Value) -> tuple[bytes, Value]:
    """The bytes of the value, and the value as a replay will see it (spec workflows 1).

    Raises `EncodeError` like `encode`.
    """
    try:
        packed = pack(value)
        again = msgpack.unpackb(packed, ext_hook=restore, object_hook=_text_keys)
    except Exception:  # of msgpack, of ours, of a property in the user's class
        packed = _NOT_FINITE[0]
    if _NOT_FINITE[0] in packed or _NOT_FINITE[1] in packed:
        return _reread_slowly(value)
    return _VERSION_BYTE + packed, again


def _reread_slowly(value: Value) -> tuple[bytes, Value]:
    try:
        packed = pack(walk(value))
        return _VERSION_BYTE + packed, msgpack.unpackb(packed, ext_hook=restore)
    except EncodeError:
        raise
    except RecursionError:
        raise EncodeError("$", f"more than {MAX_DEPTH} levels deep.") from None
    except Exception as error:  # what the walk let pass: too large for the format, for one
        raise EncodeError("$", f"can't be stored ({type(error).__name__}: {error}).") from error


def _text_keys(mapping: dict[Value, Value]) -> dict[Value, Value]:
    for key in mapping:
        if key.__class__ is not str:
            raise Refused
    return mapping
