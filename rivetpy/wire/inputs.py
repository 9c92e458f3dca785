"""An actor's input in a URL or an API body: base64 over CBOR of the value with its tags (wire 3.3)."""

from __future__ import annotations

import base64
import binascii

from rivetpy.errors import RivetError
from rivetpy.wire import cborvalue
from rivetpy.wire.tags import JsonError, Value

#: Bytes of CBOR in a URL; a bigger input goes with `create`, whose body has room.
MAX_URL_INPUT = 4096


def write_input(value: Value, *, url: bool) -> str:
    """The text for a URL (base64url, no padding) or an API body (base64 with padding).

    Raises `EncodeError` for what can't be sent.
    """
    data = cborvalue.dumps(value)
    if url and len(data) > MAX_URL_INPUT:
        raise RivetError(
            "message",
            "incoming_too_long",
            f"The input has {len(data)} bytes; a URL has room for {MAX_URL_INPUT}. Use create(key, input=…).",
        )
    return base64.urlsafe_b64encode(data).decode().rstrip("=") if url else base64.b64encode(data).decode()


def read_input(text: str) -> Value:
    """The value of either form.

    Raises RivetError ``guard.query_invalid_base64_input`` or ``guard.query_invalid_cbor_input``.
    """
    return _decode(_bytes(text))


def _bytes(text: str) -> bytes:
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise RivetError(
            "guard", "query_invalid_base64_input", f"The actor's input is not base64: {error}."
        ) from None


def _decode(data: bytes) -> Value:
    try:
        return cborvalue.loads(data)
    except JsonError as error:
        raise RivetError(
            "guard",
            "query_invalid_cbor_input",
            f"The actor's input is not CBOR of a value: {error.message}",
        ) from None
