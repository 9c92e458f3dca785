"""The asynchronous transport: HTTP/1.1 by h11 over asyncio streams, kept connections, the retries that are safe.

Not httpx: its pool looks at all connections for each request, which with 50 senders is a sixth of the speed.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import TYPE_CHECKING, TypeVar

import h11

from rivetpy.client.calls import Call, Dial, Reply, raise_lost, raise_not_connected
from rivetpy.client.endpoint import Endpoint
from rivetpy.client.lines import open_websocket
from rivetpy.client.sockets import closed_by_peer
from rivetpy.errors import RivetError

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

T = TypeVar("T")

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
        tries = 1
        while True:
            try:
                return call.result(await self._exchange(call))
            except RivetError as error:
                delay = call.retry_delay(error, tries)
                if delay is None:
                    raise
            tries += 1
            await asyncio.sleep(delay)

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
        self._arrive()
        connection = self._kept() or await self._connect()
        reusable = False
        try:
            reply = await connection.exchange(call)
            reusable = connection.ready_again()
        except (OSError, h11.RemoteProtocolError) as error:
            raise_lost(self.endpoint, str(error) or type(error).__name__)
        finally:
            if reusable and len(self._idle) < KEPT:
                self._idle.append(connection)
            else:
                connection.close()
        return reply

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
        return _Connection(*streams, host=where.authority)


class _Connection:
    """One connection, used for one exchange after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader = reader
        self._writer = writer
        self._host = host
        self._http = h11.Connection(h11.CLIENT)

    async def exchange(self, call: Call[T]) -> Reply:
        """Send the request and read the answer. Raises OSError or h11.RemoteProtocolError."""
        body = call.body or b""
        headers = [("host", self._host), *call.headers.items()]
        if call.body is not None:
            headers.append(("content-length", str(len(body))))
        request = h11.Request(method=call.method, target=call.path, headers=headers)
        self._writer.write(
            b"".join(
                self._http.send(part) or b"" for part in (request, h11.Data(data=body), h11.EndOfMessage())
            )
        )
        # A server that refuses a long body answers and may hang up: the answer is still there to read.
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()
        return await self._reply()

    async def _reply(self) -> Reply:
        status, body = 0, bytearray()
        headers: list[tuple[str, str]] = []
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(_CHUNK))
            elif isinstance(event, h11.Response):
                status = event.status_code
                headers = [(name.decode(), value.decode("latin-1")) for name, value in event.headers]
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                return Reply(status, headers, bytes(body))
            elif isinstance(event, h11.ConnectionClosed):
                raise ConnectionResetError("the connection was closed")

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
