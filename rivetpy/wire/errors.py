"""Errors as bodies and messages and back, and what of them a client may see (wire 6.4, 6.5)."""

from __future__ import annotations

from rivetpy.errors import EncodeError, RivetError
from rivetpy.wire.encodings import UNREADABLE, Encoding
from rivetpy.wire.jsonvalue import Json, JsonObject, to_json
from rivetpy.wire.messages import HTTP_ERROR, ActorSpecifier, Failed

__all__ = ["ActorSpecifier", "error_body", "error_of", "failed", "read_error", "visible"]

GENERIC_MESSAGE = "An internal error occurred"


def visible(error: BaseException) -> RivetError:
    """The error as a client may see it: itself when public, else without what only the log should hold."""
    if not isinstance(error, RivetError):
        return RivetError("rivetkit", "internal_error", GENERIC_MESSAGE)
    if error.public:
        return error
    return RivetError(error.group, error.code, GENERIC_MESSAGE, status=error.status)


def error_body(error: RivetError, actor: ActorSpecifier | None = None) -> JsonObject:
    """The JSON body of an error that `visible` let through."""
    body: JsonObject = {"group": error.group, "code": error.code, "message": _clean(error.message)}
    if error.metadata is not None:
        body["metadata"] = _metadata(error.metadata)
    if actor is not None:
        body["actor"] = specifier_tree(actor)
    return body


def failed(error: RivetError, actor: ActorSpecifier, action_id: int | None = None) -> Failed:
    """The message of a socket for an error that `visible` let through."""
    metadata = error.metadata
    try:
        to_json(metadata)
    except EncodeError as refused:
        metadata = _unreadable(refused)
    return Failed(error.group, error.code, _clean(error.message), metadata, action_id, actor)


def _metadata(metadata: object) -> Json:
    try:
        return to_json(metadata)
    except EncodeError as refused:
        return _unreadable(refused)


def _clean(message: str) -> str:
    """A message that is valid Unicode."""
    return message if message.isascii() else message.encode("utf-8", "replace").decode()


def _unreadable(refused: EncodeError) -> JsonObject:
    """An error must arrive even if what its raiser attached can't."""
    return {"unreadable": refused.message}


def read_error(status: int, body: bytes, encoding: Encoding, ray_id: str | None = None) -> RivetError:
    """The error a server answered with; any other body is ``rivetkit.internal_error`` with its text."""
    try:
        error = error_of(encoding.read(HTTP_ERROR, body, "An error"), status)
    except UNREADABLE:
        text = body[:200].decode("utf-8", "replace")
        error = RivetError(
            "rivetkit", "internal_error", f"HTTP request error ({status}): {text}", status=status
        )
    error.ray_id = ray_id
    return error


def error_of(failed: Failed, status: int | None = None) -> RivetError:
    """The error that a message tells of."""
    error = RivetError(failed.group, failed.code, failed.message, failed.metadata, status)
    if failed.actor is not None:
        error.actor = specifier_tree(failed.actor)
    return error


def specifier_tree(actor: ActorSpecifier) -> JsonObject:
    """The actor that an error comes from, as JSON and ``RivetError.actor`` have it."""
    return {"actorId": actor.actor_id, "generation": actor.generation, "key": actor.key}
