"""One request, how its answer is read, and when it may be sent again. sans-I/O: transports carry it."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, NoReturn, Protocol, TypeVar

from rivetpy.client.endpoint import Endpoint
from rivetpy.errors import RivetError
from rivetpy.wire.encodings import JSON, UNREADABLE, Encoding
from rivetpy.wire.errors import read_error

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

#: Seconds before the 2nd, 3rd … try (wire 6.6); the last ones are for an actor that is just being made again.
BACK_OFF = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
#: Answers that say: the work did not run.
NOT_RUN = frozenset(
    {
        "actor.destroyed_during_creation",
        "actor.destroyed_while_waiting_for_ready",
        "actor.destroying",
        "actor.restarting",
        "actor.starting",
        "actor.stopping",
        "guard.service_unavailable",
        "guard.actor_ready_timeout",
        "guard.actor_wake_retries_exceeded",
        "guard.actor_stopped_while_waiting",
    }
)
#: Answers that leave it open: sent again only when a second time does no harm.
MAY_HAVE_RUN = frozenset(
    {
        "client.connection_lost",
        "guard.gateway_response_start_timeout",
        "guard.tunnel_message_timeout",
        "guard.tunnel_request_aborted",
        "guard.tunnel_response_closed",
    }
)


@dataclass(frozen=True, slots=True)
class Reply:
    """A server's answer; header names are in lower case, and may come more than once."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first header of this name."""
        return next((value for each, value in self.headers if each == name), None)


@dataclass(frozen=True, slots=True)
class Call(Generic[T_co]):
    """A request: ``path`` is the raw request target, ``read`` makes the result of a body with status 2xx."""

    method: str
    path: str
    read: Callable[[bytes], T_co]
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Whether running it twice is the same as once.
    idempotent: bool = False
    #: What errors are written in unless they are JSON.
    encoding: Encoding = JSON

    def result(self, reply: Reply) -> T_co:
        """What the answer means. Raises the RivetError that the server answered with."""
        if not 200 <= reply.status < 300:
            raise self.error(reply)
        try:
            return self.read(reply.body)
        except UNREADABLE as error:
            raise RivetError(
                "client", "unreadable_answer", f"What answered is no engine of this protocol: {error.message}"
            ) from None

    def error(self, reply: Reply) -> RivetError:
        """The error that an answer tells of."""
        is_json = "application/json" in (reply.header("content-type") or "")
        encoding = JSON if is_json else self.encoding
        return read_error(reply.status, reply.body, encoding, reply.header("x-rivet-ray-id"))

    def retry_delay(self, error: RivetError, tries: int) -> float | None:
        """Seconds to wait before the next try after ``tries`` of them; None: give up."""
        name = f"{error.group}.{error.code}"
        if tries > len(BACK_OFF):
            return None
        if name in NOT_RUN or (self.idempotent and name in MAY_HAVE_RUN):
            return BACK_OFF[tries - 1]
        return None


@dataclass(frozen=True, slots=True)
class OpenReply:
    """A server's answer whose body is still to come. Whoever has it closes it, also when it was read to its end."""

    status: int
    headers: Sequence[tuple[str, str]]
    parts: AsyncIterator[bytes]
    close: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RawCall(Call[bytes]):
    """A call whose answer is the actor's own, whatever its status."""

    #: Instead of ``body``: what is sent as it comes, and can't be sent again.
    parts: AsyncIterable[bytes] | None = None

    async def checked(self, reply: OpenReply) -> OpenReply:
        """The answer. Raises RivetError when the way to the actor answered that it did not run."""
        if next((value for name, value in reply.headers if name == "x-rivet-error"), None) not in NOT_RUN:
            return reply
        try:
            body = b"".join([part async for part in reply.parts])
        finally:
            await reply.close()
        raise self.error(Reply(reply.status, reply.headers, body))

    def retry_delay(self, error: RivetError, tries: int) -> float | None:
        return None if self.parts is not None else Call.retry_delay(self, error, tries)


@dataclass(frozen=True, slots=True)
class Dial:
    """A WebSocket to open: ``path`` is the raw request target."""

    path: str
    subprotocols: Sequence[str]
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def raise_not_connected(endpoint: Endpoint, reason: object) -> NoReturn:
    """No connection was made, so nothing was sent."""
    raise RivetError(
        "client",
        "connection_failed",
        f"No engine answers at {endpoint.url} ({reason}). Start one with `rivet dev`, "
        "or name another with RIVET_ENDPOINT.",
    )


def raise_lost(endpoint: Endpoint, reason: object) -> NoReturn:
    """The connection broke after the request was sent, so it may have run."""
    raise connection_lost(endpoint, reason)


def connection_lost(endpoint: Endpoint, reason: object) -> RivetError:
    """The error for whatever was under way when a connection broke."""
    return RivetError(
        "client",
        "connection_lost",
        f"The engine at {endpoint.url} went away before it answered ({reason}); whether the request ran "
        "is not known. A send with an idempotency_key can be repeated safely.",
    )


class Transport(Protocol):
    """What carries calls for an asynchronous client."""

    async def run(self, call: Call[T]) -> T:
        """Make the call and return its result. Raises RivetError."""
        ...

    async def stream(self, call: RawCall) -> OpenReply:
        """Make the call and return the answer as soon as it begins. Raises RivetError."""
        ...

    async def open(self, dial: Dial) -> ClientConnection:
        """An open WebSocket. Raises RivetError."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...
