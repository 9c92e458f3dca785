"""The asynchronous transport: HTTP/1.1 by h11 over asyncio streams, kept connections, the retries that are safe.

Not httpx: its pool looks at all connections for each request, which with 50 senders is a sixth of the speed.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import h11

from rivetpy.client.calls import Call, Dial, OpenReply, RawCall, Reply, raise_lost, raise_not_connected
from rivetpy.client.endpoint import Endpoint
from rivetpy.client.lines import open_websocket
from rivetpy.client.sockets import closed_by_peer
from rivetpy.errors import RivetError

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

T = TypeVar("T")
S = TypeVar("S")
#: Status and headers of an answer.
_Head = tuple[int, list[tuple[str, str]]]

#: Seconds. An answer may take as long as the server lets it; only connecting is bounded.
CONNECT_TIMEOUT = 10.0
#: Idle connections kept for later.
KEPT = 100
_CHUNK = 65536


class HttpTransport:
    """Carries calls to one endpoint, any number at a time: each on a connection of its own."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._tls = ssl.create_default_context() if endpoint.scheme == "https" else None
        self._idle: list[_Connection] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        #: Those of other loops that still run, a parent process's among them: closing them is not for this one.
        self._of_others: list[tuple[asyncio.AbstractEventLoop, list[_Connection]]] = []

    async def run(self, call: Call[T]) -> T:
        """Send the call, again where that is safe (wire 6.6), and return its result. Raises RivetError."""

        async def once() -> T:
            return call.result(await self._exchange(call))

        return await _trying(call, once)

    async def stream(self, call: RawCall) -> OpenReply:
        """Send the call, again where that is safe, and return the answer as soon as it begins. Raises RivetError."""

        async def once() -> OpenReply:
            return await call.checked(await self._begin(call))

        return await _trying(call, once)

    async def open(self, dial: Dial) -> ClientConnection:
        """Open a WebSocket. Raises RivetError ``client.connection_failed``, ``client.connection_refused``."""
        return await open_websocket(self.endpoint, dial)

    async def close(self) -> None:
        """Close the kept connections."""
        self._arrive()
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        for connection in idle:
            await connection.closed()

    async def _exchange(self, call: Call[T]) -> Reply:
        connection = await self._connection()
        try:
            return await connection.exchange(call)
        finally:
            self._leave(connection)

    async def _begin(self, call: RawCall) -> OpenReply:
        connection = await self._connection()
        try:
            status, headers = await connection.begin(call, call.parts)
        except BaseException:
            self._leave(connection)
            raise
        open: list[_Connection] = [connection]

        async def close() -> None:
            while open:
                self._leave(open.pop())

        async def parts() -> AsyncIterator[bytes]:
            while open and (part := await connection.more()):
                yield part
            await close()

        return OpenReply(status, headers, parts(), close)

    async def _connection(self) -> _Connection:
        self._arrive()
        return self._kept() or await self._connect()

    def _leave(self, connection: _Connection) -> None:
        """Keep it for later where nothing is under way."""
        if connection.ready_again() and len(self._idle) < KEPT:
            self._idle.append(connection)
        else:
            connection.close()

    def _arrive(self) -> None:
        """Connections belong to the loop that they were opened in."""
        loop = asyncio.get_running_loop()
        if loop is self._loop:
            return
        if self._loop is not None:
            self._of_others.append((self._loop, self._idle))
        self._of_others = [each for each in self._of_others if not each[0].is_closed()]
        self._loop, self._idle = loop, []

    def _kept(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.alive():
                return connection
            connection.close()
        return None

    async def _connect(self) -> _Connection:
        where = self.endpoint
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                streams = await asyncio.open_connection(where.host, where.port, ssl=self._tls)
        except TimeoutError:
            raise_not_connected(where, f"no answer within {CONNECT_TIMEOUT:g} s")
        except OSError as error:
            raise_not_connected(where, error.strerror or error)
        return _Connection(*streams, where)


async def _trying(call: Call[T], once: Callable[[], Awaitable[S]]) -> S:
    """What the first attempt gives that is not to be repeated."""
    tries = 1
    while True:
        try:
            return await once()
        except RivetError as error:
            delay = call.retry_delay(error, tries)
            if delay is None:
                raise
        tries += 1
        await asyncio.sleep(delay)


class _Connection:
    """One connection, used for one exchange after the other."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, endpoint: Endpoint
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._endpoint = endpoint
        self._http = h11.Connection(h11.CLIENT)

    async def exchange(self, call: Call[T]) -> Reply:
        """Send the request and read the answer. Raises RivetError ``client.connection_lost``."""
        status, headers = await self.begin(call)
        body = bytearray()
        while part := await self.more():
            body += part
        return Reply(status, headers, bytes(body))

    async def begin(self, call: Call[T], parts: AsyncIterable[bytes] | None = None) -> _Head:
        """Send the request, its body in ``parts`` if given, and read the answer's head."""
        if parts is not None:
            return await self._begin_in_parts(call, parts)
        length = [] if call.body is None else [("content-length", str(len(call.body)))]
        await self._send(self._request(call, length), h11.Data(data=call.body or b""), h11.EndOfMessage())
        return await self._head()

    async def more(self) -> bytes:
        """The next part of the answer's body; nothing at its end."""
        while not isinstance(event := await self._next(), h11.EndOfMessage):
            if isinstance(event, h11.Data) and event.data:
                return bytes(event.data)
        return b""

    async def _begin_in_parts(self, call: Call[T], parts: AsyncIterable[bytes]) -> _Head:
        """A server may answer before it has heard everything; then the rest is not wanted."""
        sending = asyncio.ensure_future(self._send_parts(call, parts))
        reading = asyncio.ensure_future(self._head())
        try:
            await asyncio.wait((sending, reading), return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                await sending  # which raises what the parts raise
            return await reading
        finally:
            sending.cancel()
            reading.cancel()
            await asyncio.gather(sending, reading, return_exceptions=True)

    async def _send_parts(self, call: Call[T], parts: AsyncIterable[bytes]) -> None:
        await self._send(self._request(call, [("transfer-encoding", "chunked")]))
        async for part in parts:
            await self._send(h11.Data(data=part))
        await self._send(h11.EndOfMessage())

    def _request(self, call: Call[T], framing: list[tuple[str, str]]) -> h11.Request:
        headers = [("host", self._endpoint.authority), *call.headers.items(), *framing]
        return h11.Request(method=call.method, target=call.path, headers=headers)

    async def _send(self, *events: h11.Event) -> None:
        self._writer.write(b"".join(self._http.send(event) or b"" for event in events))
        # A server that refuses a long body answers and may hang up: the answer is still there to read.
        with contextlib.suppress(OSError):
            await self._writer.drain()

    async def _head(self) -> _Head:
        while not isinstance(event := await self._next(), h11.Response):
            pass
        headers = [(name.decode(), value.decode("latin-1")) for name, value in event.headers]
        return event.status_code, headers

    async def _next(self) -> h11.Event:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(_CHUNK))
        except (OSError, h11.RemoteProtocolError) as error:
            raise_lost(self._endpoint, str(error) or type(error).__name__)
        if isinstance(event, h11.ConnectionClosed):
            raise_lost(self._endpoint, "the connection was closed")
        assert isinstance(event, h11.Event)
        return event

    def ready_again(self) -> bool:
        """Whether another exchange may follow; prepares for it."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    def alive(self) -> bool:
        """Whether the peer has kept it open, too."""
        if self._writer.is_closing() or self._reader.at_eof():
            return False
        return not closed_by_peer(self._writer.get_extra_info("socket").fileno())

    def close(self) -> None:
        """Begin to close it."""
        self._writer.close()

    async def closed(self) -> None:
        """Until it is closed."""
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
