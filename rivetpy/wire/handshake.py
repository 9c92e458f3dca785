"""What a client says when it connects: in subprotocols for a WebSocket, in headers for HTTP (wire 5.3, 6, 7.1)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import quote, unquote_to_bytes

from rivetpy.errors import EncodeError, RivetError
from rivetpy.wire import jsonvalue
from rivetpy.wire.encodings import JSON, Encoding, encoding_named
from rivetpy.wire.tags import JsonError, Value

#: The subprotocol that clients insist on, whatever else they offer.
SUBPROTOCOL = "rivet"
PARAMS_HEADER = "x-rivet-conn-params"
_PREFIX = "rivet_"


@dataclass(frozen=True, slots=True)
class Offer:
    """The subprotocols of a WebSocket. ``target`` and ``actor`` are those of the root form."""

    encoding: str | None = None
    conn_params: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    target: str | None = None
    actor: str | None = None
    inspector_token: str | None = field(default=None, repr=False)

    def message_encoding(self) -> Encoding:
        """How messages are to be written; not said is JSON.

        Raises RivetError ``actor.unsupported_websocket_encoding``.
        """
        if self.encoding is None:
            return JSON
        known = encoding_named(self.encoding)
        if known is None:
            raise RivetError(
                "actor",
                "unsupported_websocket_encoding",
                f"There is no encoding {self.encoding!r}; use bare, cbor or json.",
            )
        return known

    def params(self) -> Value:
        """The connection's parameters. Raises RivetError ``actor.invalid_request``."""
        return _params(_decoded(self.conn_params)) if self.conn_params else None


_FIELDS = frozenset(Offer.__dataclass_fields__)


def read_offer(subprotocols: Iterable[str]) -> Offer:
    """What subprotocols say; the first of each wins, others are somebody else's."""
    found: dict[str, str] = {}
    for offered in subprotocols:
        name, dot, value = offered.removeprefix(_PREFIX).partition(".")
        if offered.startswith(_PREFIX) and dot and name in _FIELDS:
            found.setdefault(name, value)
    return Offer(**found)


def header_params(header: str | None) -> Value:
    """The parameters of a temporary connection, from a header read as Latin-1, as clients write it.

    Raises RivetError ``actor.invalid_request``.
    """
    return _params(header) if header else None


def write_params(params: Value) -> str:
    """The parameters of a connection as JSON in ASCII, fit for a header. Raises `EncodeError`.

    Nobody reads tags in them, so they are values that JSON itself has.
    """
    try:
        return json.dumps(params, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise EncodeError("$.params", f"parameters are plain JSON ({error}).") from None


def write_offer(
    encoding: Encoding, params: Value, actor_id: str | None = None, token: str | None = None
) -> list[str]:
    """The subprotocols a client offers; in the root form, they name the actor. Raises `EncodeError`."""
    offered = [SUBPROTOCOL, f"{_PREFIX}encoding.{encoding.name}"]
    if actor_id is not None:
        offered += [f"{_PREFIX}target.actor", f"{_PREFIX}actor.{actor_id}", f"{_PREFIX}skip_ready_wait"]
        offered += [f"{_PREFIX}token.{token}"] if token else []
    if params is not None:
        offered.append(f"{_PREFIX}conn_params.{quote(write_params(params), safe='')}")
    return offered


def _decoded(text: str) -> str:
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise JsonError("A subprotocol is not percent-encoded UTF-8.") from None


def _params(text: str) -> Value:
    try:
        return jsonvalue.parse(text.encode("utf-8", "surrogatepass"))  # plain: no tags in it
    except JsonError as error:
        raise JsonError(f"The connection's parameters: {error.message}") from None
