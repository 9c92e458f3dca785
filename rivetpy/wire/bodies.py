"""Bodies of actions and queue sends in both directions: the one place that chooses the encoding (wire 6)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from urllib.parse import quote, unquote

from rivetpy.errors import EncodeError
from rivetpy.wire import encodings
from rivetpy.wire.encodings import Encoding
from rivetpy.wire.messages import (
    ACTION_CALL,
    ACTION_OUTPUT,
    ENQUEUE,
    ENQUEUED,
    ActionCall,
    ActionOutput,
    Enqueue,
    Enqueued,
)
from rivetpy.wire.tags import JsonError, Value

MAX_IDEMPOTENCY_KEY = 256
#: How the keys begin that clients give by themselves to sends that wait. Nobody comes back for these after a day.
WAITING_KEY = "rivetpy.wait:"
#: Where ``/metadata`` says that an idempotency key makes a repeated send one message. A Rivet Engine ignores keys.
KEEPS_KEYS = "idempotencyKeys"
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F))).replace("%", "")
#: Where an idempotency key travels, percent-encoded, when the body has no place for it. Ours; other servers ignore it.
IDEMPOTENCY_HEADER = "x-rivet-idempotency-key"


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


class Bodies:
    """One encoding. Reading raises RivetError ``actor.invalid_request``, writing `EncodeError`."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        #: Its name in ``x-rivet-encoding``.
        self.name = encoding.name
        self.content_type = encoding.content_type

    def write_args(self, args: list[Value]) -> bytes:
        return self.encoding.write(ACTION_CALL, ActionCall(args))

    def read_args(self, data: bytes) -> list[Value]:
        return args_list(self.encoding.read(ACTION_CALL, data, "The body of an action").args)

    def write_output(self, output: Value) -> bytes:
        return self.encoding.write(ACTION_OUTPUT, ActionOutput(output))

    def read_output(self, data: bytes) -> Value:
        return self.encoding.read(ACTION_OUTPUT, data, "The body of an action's answer").output

    def send_headers(self, send: QueueSend) -> dict[str, str]:
        """What of a send has no place in its body: BARE's idempotency key."""
        if send.idempotency_key is None or self.encoding is not encodings.BARE:
            return {}
        try:
            return {IDEMPOTENCY_HEADER: quote(send.idempotency_key, safe=_PRINTABLE)}
        except UnicodeEncodeError:
            raise EncodeError("$.idempotencyKey", "a lone surrogate is not valid Unicode text.") from None

    def write_send(self, queue: str, send: QueueSend) -> bytes:
        """The body of a send; `send_headers` go with it."""
        timeout = None if send.timeout is None else send.timeout * 1000
        return self.encoding.write(
            ENQUEUE, Enqueue(send.body, queue, send.wait, timeout, send.idempotency_key)
        )

    def read_send(self, data: bytes, idempotency_key: str | None = None) -> QueueSend:
        """What is asked for; ``idempotency_key`` is the header's, for a body that brings none."""
        if idempotency_key is not None:
            idempotency_key = unquote(idempotency_key)
        sent = self.encoding.read(ENQUEUE, data, "The body of a queue message")
        return QueueSend(
            body=sent.body,
            wait=bool(sent.wait),
            timeout=None if sent.timeout is None else math.ceil(sent.timeout) / 1000,
            idempotency_key=_checked(
                idempotency_key if sent.idempotency_key is None else sent.idempotency_key
            ),
        )

    def write_reply(self, reply: QueueReply, waited: bool) -> bytes:
        response = reply.response if waited and reply.status == "completed" else None
        return self.encoding.write(ENQUEUED, Enqueued(reply.status, response))

    def read_reply(self, data: bytes) -> QueueReply:
        reply = self.encoding.read(ENQUEUED, data, "The body of a queue's answer")
        return QueueReply(reply.status, reply.response)


JSON = Bodies(encodings.JSON)
_ALL = {"json": JSON, "cbor": Bodies(encodings.CBOR), "bare": Bodies(encodings.BARE)}


def bodies_for(encoding: str | None) -> Bodies:
    """The encoding that ``x-rivet-encoding`` asks for; missing or unknown is JSON."""
    return _ALL.get(encoding or "json", JSON)


def args_list(args: Value) -> list[Value]:
    """The arguments of an action as people send them: a list, one that is no list, or none."""
    if args is None:
        return []
    return args if isinstance(args, list) else [args]


def _checked(key: str | None) -> str | None:
    if key is None or 0 < len(key) <= MAX_IDEMPOTENCY_KEY:
        return key
    raise JsonError(f"'idempotencyKey' is a string of 1 to {MAX_IDEMPOTENCY_KEY} characters.")
