"""uvicorn's two protocols, with an end to what a client may send, to how long it may take, and to how many come.

uvicorn bounds none of this by itself. Its own log is left out below errors: it would write URLs and headers, and with
them tokens, and a line for everybody who sends what is no HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import logging
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.frames import Frame

from rivetpy.engine.handover import Handover
from rivetpy.errors import RivetError
from rivetpy.wire.errors import error_body
from rivetpy.wire.jsonvalue import encode

log = logging.getLogger("rivetpy.engine")
_quiet = logging.getLogger("rivetpy.engine.server")
_quiet.setLevel(logging.ERROR)

#: Bytes of a URL (an actor's input may be in it), and of a request's whole head.
MAX_URL, MAX_HEAD = 64 * 1024, 128 * 1024
MAX_HEADERS = 100
#: Bytes of a line in the head of a WebSocket: what the parser behind it takes.
MAX_LINE = 8000
#: Parts that one message of a WebSocket may come in.
MAX_PARTS = 4096
#: Open files of the process up to which connections are taken; there are about as many connections.
MAX_FILES = 16 * 1024
#: Files kept for the actors' databases and whatever else the process opens.
RESERVE = 128
#: Seconds between two complaints about the same thing.
QUIET = 60.0


@dataclass(frozen=True, slots=True)
class Times:
    """How long (seconds) a client may take."""

    #: From the connection, or a request's first byte, to the end of its head.
    head: float = 15.0
    #: For the rest of a body that is not wanted any more: the answer is out.
    rest: float = 5.0
    #: To take what waits for it, once that is more than a little.
    reading: float = 60.0


class Clients(ServerState):
    """Everybody who is connected, whether there is room for one more, and who they are left to at the end."""

    def __init__(self, times: Times, handover: Handover | None) -> None:
        super().__init__()
        self.times = times
        self.handover = handover
        self._top = _room()
        self._said = -QUIET

    def has_room(self, transport: asyncio.BaseTransport) -> bool:
        """Whether the connection may stay. A new file gets the lowest free number, which tells how many there are."""
        number: int = transport.get_extra_info("socket").fileno()
        if number < self._top:
            return True
        if time.monotonic() - self._said > QUIET:
            self._said = time.monotonic()
            log.error(
                "%d files are open, as many as this process may have: new connections are refused until some close. "
                "`ulimit -n` raises the limit; files that an actor opens and does not close count too",
                number,
            )
        return False


def _room() -> int:
    """Raise the process's limit of open files as far as it is wanted and allowed; the number where connections end."""
    wanted = MAX_FILES + RESERVE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        better = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):  # not allowed here: what there is has to do
            resource.setrlimit(resource.RLIMIT_NOFILE, (better, hard))
            soft = better
    limit = wanted if soft == resource.RLIM_INFINITY else min(soft, wanted)
    return max(limit - RESERVE, limit // 2)


class _Phase(enum.Enum):
    """Where the parser is."""

    BETWEEN, HEAD, BODY = range(3)


class _Limit:
    """At most one timer that ends a connection."""

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None

    @property
    def set(self) -> bool:
        return self._timer is not None

    def start(self, seconds: float, end: Callable[[], object]) -> None:
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(seconds, end)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class HttpProtocol(HttpToolsProtocol):
    """HTTP/1.1 as uvicorn speaks it, bounded."""

    def __init__(
        self,
        config: Config,
        server_state: Clients,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.logger = _quiet
        self._clients = server_state
        self._phase = _Phase.HEAD
        #: Bytes received since the parser last told of something.
        self._silent = 0
        #: Whether the server ends, and with it the connection once this request is answered.
        self._last = False
        self._receiving = _Limit()
        self._sending = _Limit()
        self._refusal = RivetError("guard", "invalid_request", "This is not HTTP.")

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._clients.has_room(transport):
            self._receiving.start(self._clients.times.head, self._too_slow)
        else:
            self._refuse(
                "service_unavailable", "The engine has no room for another connection; try later.", 503
            )

    def connection_lost(self, exc: Exception | None) -> None:
        self._receiving.stop()
        self._sending.stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._silent += len(data)
        super().data_received(data)
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return
        if self._silent > MAX_HEAD:
            self._refuse(*_HEAD_TOO_LONG)
        elif self._expects_a_head() and not self._receiving.set:
            self._receiving.start(self._clients.times.head, self._too_slow)

    def _expects_a_head(self) -> bool:
        """Whether what came belongs to a head that is not whole: the base has ended its own patience by now."""
        if self._phase is _Phase.BETWEEN:
            return self.cycle.response_complete
        return self._phase is _Phase.HEAD

    def on_message_begin(self) -> None:
        self._phase = _Phase.HEAD
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        # After a body come trailers: nobody wants them, and the head is closed.
        if self._phase is _Phase.HEAD:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._phase = _Phase.BODY
        self._silent = 0
        self._receiving.stop()
        self._check_head()
        super().on_headers_complete()
        if self._last:
            self.shutdown()

    def on_body(self, body: bytes) -> None:
        self._silent = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._phase = _Phase.BETWEEN
        self._silent = 0
        self._receiving.stop()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._phase is _Phase.BODY:
            self._receiving.start(self._clients.times.rest, self.transport.abort)

    def resume(self) -> None:
        """It is no new connection: another server had it, and nothing was going on."""
        self._receiving.stop()
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def shutdown(self) -> None:
        """The server ends: an answer that is due is given, and what is idle is closed or left to the next server."""
        handover = self._clients.handover
        written = not self.transport.is_closing() and self.transport.get_write_buffer_size() == 0
        if not self._idle and self._phase is _Phase.HEAD:
            self._last = True
        elif self._idle and written and handover is not None and handover.leaving:
            handover.give(self.transport)
        else:
            super().shutdown()

    @property
    def _idle(self) -> bool:
        """Whether no part of a request has come that is not answered."""
        answered = self._phase is _Phase.BETWEEN and self.cycle.response_complete
        return not self._silent and (answered or self._phase is _Phase.HEAD)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._sending.start(self._clients.times.reading, self.transport.abort)

    def resume_writing(self) -> None:
        self._sending.stop()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """What the base answers when the parser, or a check of the head, gave up."""
        self._answer(self._refusal)

    def _check_head(self) -> None:
        """Raises RivetError, which the parser hands on as its own; `send_400_response` then tells it."""
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if len(self.url) > MAX_URL:
            self._refusal = _refusal("uri_too_long", f"The URL is longer than {MAX_URL} bytes.", 414)
        elif size > MAX_HEAD or len(self.headers) > MAX_HEADERS or self._line_too_long():
            self._refusal = _refusal(*_HEAD_TOO_LONG)
        elif self.url[:1] == b"/" or self._is_absolute():
            return
        raise self._refusal

    def _line_too_long(self) -> bool:
        lines = [self.url, *(value for _, value in self.headers)]
        return self._should_upgrade() and max(map(len, lines)) > MAX_LINE

    def _is_absolute(self) -> bool:
        """A URL with a host in it: that host counts, whatever the header says (RFC 9112, 3.2.2)."""
        url = httptools.parse_url(self.url)
        if not (url.schema and url.host and url.path):
            return False
        host = b"%s:%d" % (url.host, url.port) if url.port else url.host
        self.headers[:] = [pair for pair in self.headers if pair[0] != b"host"] + [(b"host", host)]
        self.url = url.path if url.query is None else url.path + b"?" + url.query
        return True

    def _too_slow(self) -> None:
        if self._silent:
            self._refuse("request_timeout", "The request's head took too long to arrive.", 408)
        else:
            self.transport.close()  # it never said a word

    def _refuse(self, code: str, message: str, status: int) -> None:
        self._answer(_refusal(code, message, status))

    def _answer(self, error: RivetError) -> None:
        body = encode(error_body(error))
        lines = [
            STATUS_LINE[error.status] + b"content-type: application/json",
            b"content-length: %d" % len(body),
            b"x-rivet-error: %s.%s" % (error.group.encode(), error.code.encode()),
            b"connection: close\r\n\r\n",
        ]
        self.transport.write(b"\r\n".join(lines) + body)
        self.transport.close()


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """WebSockets as uvicorn speaks them, bounded."""

    def __init__(
        self,
        config: Config,
        server_state: Clients,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.logger = self.conn.logger = _quiet
        self._times = server_state.times
        self._sending = _Limit()

    def connection_lost(self, exc: Exception | None) -> None:
        self._sending.stop()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._sending.start(self._times.reading, self.transport.abort)

    def resume_writing(self) -> None:
        self._sending.stop()
        super().resume_writing()

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self._sending.start(self._times.rest, self.transport.abort)  # closing waits for one who takes nothing

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) >= MAX_PARTS:  # empty parts count for nothing in the size
            self.conn.fail(1009, f"more than {MAX_PARTS} parts")
            self.handle_parser_exception()
        else:
            super().handle_cont(event)

    def handle_ping(self) -> None:
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()  # who takes no answers gets none: they would pile up


_HEAD_TOO_LONG = (
    "headers_too_long",
    f"The request's head is too long: {MAX_HEADERS} headers and {MAX_HEAD} bytes are allowed, "
    f"and in a WebSocket's {MAX_LINE} a line.",
    431,
)


def _refusal(code: str, message: str, status: int) -> RivetError:
    return RivetError("guard", code, message, status=status)
