"""Errors as JSON bodies and back, and what of them a client may see (wire 6.4, 6.5)."""

from __future__ import annotations

from rivetpy.errors import EncodeError, RivetError
from rivetpy.wire.jsonvalue import Json, JsonError, JsonObject, from_json, parse, to_json
from rivetpy.wire.messages import ActorSpecifier, Failed

__all__ = ["ActorSpecifier", "error_body", "failed", "read_error", "visible"]

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
        body["actor"] = {"actorId": actor.actor_id, "generation": actor.generation, "key": actor.key}
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


def read_error(status: int, body: bytes, ray_id: str | None = None) -> RivetError:
    """The error a server answered with; any other body is ``rivetkit.internal_error`` with its text."""
    error = _read(status, body)
    error.ray_id = ray_id
    return error


def _read(status: int, body: bytes) -> RivetError:
    try:
        tree = parse(body)
    except JsonError:
        tree = None
    if not isinstance(tree, dict) or not {"group", "code"} <= tree.keys():
        text = body[:200].decode("utf-8", "replace")
        return RivetError(
            "rivetkit", "internal_error", f"HTTP request error ({status}): {text}", status=status
        )
    message = str(tree.get("message") or "")
    error = RivetError(str(tree["group"]), str(tree["code"]), message, _value(tree.get("metadata")), status)
    actor = tree.get("actor")
    error.actor = actor if isinstance(actor, dict) else None
    return error


def _value(metadata: Json) -> object:
    try:
        return from_json(metadata)
    except JsonError:
        return metadata
