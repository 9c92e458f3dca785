"""Who an actor is: keys as text, names that are allowed, and random opaque ids (spec actors 3, wire 3)."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Sequence

from rivetpy.errors import RivetError

Key = tuple[str, ...]

MAX_KEY_BYTES = 1024
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
#: Two digits at a time, least significant first: every request has an id, so making one has to be quick.
_PAIRS = [low + high for high in _DIGITS for low in _DIGITS]
_ID_DIGITS = 30


def new_id() -> str:
    """A fresh actor id: 30 base-36 digits around a random UUID (spec wire 3.1)."""
    number = int.from_bytes(b"\x01" + uuid.uuid4().bytes + b"\x00\x01", "little")
    pairs = []
    for _ in range(_ID_DIGITS // 2):
        number, pair = divmod(number, len(_PAIRS))
        pairs.append(_PAIRS[pair])
    return "".join(pairs)


def new_token() -> str:
    """32 random bytes as 43 characters of base64url."""
    return secrets.token_urlsafe(32)


def key_of(key: str | Sequence[str]) -> Key:
    """The key as a tuple of parts; a plain string is one part.

    Raises RivetError ``actor.invalid_request`` for parts that are not text or a key that is too long.
    """
    # What the type says, callers may not have kept: this is where keys from users and the wire come in.
    parts: object = (key,) if isinstance(key, str) else key
    checked: list[str] = []
    for part in parts if isinstance(parts, list | tuple) else (parts,):
        if not isinstance(part, str):
            raise RivetError(
                "actor", "invalid_request", f"A key is a str or a list of str, not {part!r}.", status=400
            )
        checked.append(part)
    try:
        size = sum(len(part.encode()) for part in checked)
    except UnicodeEncodeError:
        raise RivetError(
            "actor", "invalid_request", "A key holds a lone surrogate; use valid Unicode text."
        ) from None
    if size > MAX_KEY_BYTES:
        raise RivetError(
            "actor", "invalid_request", f"A key may have {MAX_KEY_BYTES} bytes; this has {size}."
        )
    return tuple(checked)


def format_key(key: Key) -> str:
    r"""One string for a key: parts joined with ``/``; ``\`` and ``/`` inside a part escaped (spec wire 3.2)."""
    if not key:
        return "/"
    return "/".join(part.replace("\\", "\\\\").replace("/", "\\/") if part else "\\0" for part in key)


def parse_key(text: str) -> Key:
    """The inverse of `format_key`; also reads what a person types as ``org/room``."""
    if text in {"", "/"}:
        return ()
    parts: list[str] = [""]
    letters = iter(text)
    for letter in letters:
        if letter == "/":
            parts.append("")
        elif letter == "\\":
            escaped = next(letters, "\\")
            parts[-1] += "" if escaped == "0" else escaped
        else:
            parts[-1] += letter
    return tuple(parts)
