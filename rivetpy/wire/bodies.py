"""Bodies of actions and queue sends in both directions: the one place that chooses the encoding (wire 6)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from rivetpy.errors import RivetError
from rivetpy.wire.jsonvalue import JsonError, JsonObject, Value, dumps, loads

MAX_IDEMPOTENCY_KEY = 256


@dataclass(frozen=True, slots=True)
class QueueSend:
    """What a sender asks for. ``timeout`` is in seconds; ``idempotency_key`` is ours."""

    body: Value = None
    wait: bool = False
    timeout: float | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class QueueReply:
    """How a send ended: ``completed`` or ``timedOut``; ``response`` is what the receiver answered."""

    status: str
    response: Value = None


class Bodies(Protocol):
    """One encoding. Reading raises RivetError ``actor.invalid_request``, writing `EncodeError`."""

    content_type: str
    #: Its name in ``x-rivet-encoding``.
    name: str

    def write_args(self, args: list[Value]) -> bytes: ...
    def read_args(self, data: bytes) -> list[Value]: ...
    def write_output(self, output: Value) -> bytes: ...
    def read_output(self, data: bytes) -> Value: ...
    def write_send(self, queue: str, send: QueueSend) -> bytes: ...
    def read_send(self, data: bytes) -> QueueSend: ...
    def write_reply(self, reply: QueueReply, waited: bool) -> bytes: ...
    def read_reply(self, data: bytes) -> QueueReply: ...


class JsonBodies:
    """The ``json`` encoding."""

    content_type = "application/json"
    name = "json"

    def write_args(self, args: list[Value]) -> bytes:
        return dumps({"args": args})

    def read_args(self, data: bytes) -> list[Value]:
        args = _object(data, "an action").get("args")
        if args is None:
            return []
        return args if isinstance(args, list) else [args]

    def write_output(self, output: Value) -> bytes:
        return dumps({"output": output})

    def read_output(self, data: bytes) -> Value:
        return _object(data, "an action's answer").get("output")

    def write_send(self, queue: str, send: QueueSend) -> bytes:
        body: JsonObject = {"body": send.body, "name": queue, "wait": send.wait}
        if send.timeout is not None:
            body["timeout"] = round(send.timeout * 1000)
        if send.idempotency_key is not None:
            body["idempotencyKey"] = send.idempotency_key
        return dumps(body)

    def read_send(self, data: bytes) -> QueueSend:
        body = _object(data, "a queue message")
        return QueueSend(
            body=body.get("body"),
            wait=_wait(body.get("wait")),
            timeout=_timeout(body.get("timeout")),
            idempotency_key=_idempotency_key(body.get("idempotencyKey")),
        )

    def write_reply(self, reply: QueueReply, waited: bool) -> bytes:
        body: JsonObject = {"status": reply.status}
        if waited and reply.status == "completed":
            body["response"] = reply.response
        return dumps(body)

    def read_reply(self, data: bytes) -> QueueReply:
        body = _object(data, "a queue's answer")
        return QueueReply(str(body.get("status", "completed")), body.get("response"))


JSON = JsonBodies()


def bodies_for(encoding: str | None) -> Bodies:
    """The encoding that ``x-rivet-encoding`` asks for; missing or unknown is JSON.

    Raises RivetError ``actor.invalid_request`` for an encoding that this release does not speak.
    """
    if encoding in {"cbor", "bare"}:
        raise RivetError(
            "actor", "invalid_request", f"The encoding {encoding!r} is not available here; use 'json'."
        )
    return JSON


def _object(data: bytes, what: str) -> JsonObject:
    if not data:
        raise JsonError(f"The body of {what} is empty; it is a JSON object.")
    value = loads(data)
    if not isinstance(value, dict):
        raise JsonError(f"The body of {what} is a JSON object, not {type(value).__name__}.")
    return value


def _wait(value: Value) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    raise JsonError(f"'wait' is true or false, not {value!r}.")


def _timeout(value: Value) -> float | None:
    """Milliseconds on the wire, seconds here."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        raise JsonError(f"'timeout' is a number of milliseconds, not {value!r}.")
    return math.ceil(value) / 1000


def _idempotency_key(value: Value) -> str | None:
    if value is None or (isinstance(value, str) and 0 < len(value) <= MAX_IDEMPOTENCY_KEY):
        return value
    raise JsonError(f"'idempotencyKey' is a string of 1 to {MAX_IDEMPOTENCY_KEY} characters.")
