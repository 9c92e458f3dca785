"""Serving the engine with uvicorn on a socket that somebody else owns, until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Generator

import uvicorn
from starlette.applications import Starlette

from rivetpy.engine.handover import Handover
from rivetpy.engine.protocols import Clients, HttpProtocol, Times, WebSocketProtocol

#: Seconds that requests in progress get after the stop.
GRACE = 10.0
#: Seconds that cancelled requests get to say so.
LAST_WORDS = 1.0
#: Seconds between two looks whether everybody has left.
LEAVING_PERIOD = 0.01
#: Turns of the event loop, at most, from a connection's acceptance until its protocol has it.
ACCEPTING_TURNS = 10
#: Seconds an idle connection stays open: longer than clients keep theirs, so that they close first.
KEEP_ALIVE = 75
#: Bytes of a WebSocket's message that are read at all, unless an actor allows more. Actors' own limits are lower, and
#: who exceeds one is told so.
MAX_FRAME = 1024 * 1024


class _Server(uvicorn.Server):
    """Signals are the business of whoever called. It ends without uvicorn's pauses of a tenth of a second: a reload
    waits for each."""

    def __init__(
        self, config: uvicorn.Config, started: asyncio.Event, times: Times, handover: Handover | None
    ) -> None:
        super().__init__(config)
        self.server_state = self._clients = Clients(times, handover)
        self._accepting = started
        self._ending = asyncio.Event()

    def end(self) -> None:
        """Let what runs be answered, and nothing more."""
        self.should_exit = True
        self._ending.set()

    async def main_loop(self) -> None:
        while not await self.on_tick(0):  # which sets the date that answers carry
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), 1.0)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listening in (*self.servers, *(sockets or ())):
            listening.close()
        told: set[object] = set()
        for _ in range(ACCEPTING_TURNS):
            await asyncio.sleep(0)
        while not self.force_exit:
            for connection in self._clients.connections - told:
                told.add(connection)
                connection.shutdown()
            if not self._clients.connections and not self._clients.tasks:
                return
            await asyncio.sleep(LEAVING_PERIOD)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for connection in self._clients.handover.take() if self._clients.handover is not None else ():
            await self._take_over(connection)
        self._accepting.set()

    async def _take_over(self, connection: socket.socket) -> None:
        """Go on with a connection that another server had."""
        protocol = HttpProtocol(self.config, self._clients, self.lifespan.state)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, connection)
        except OSError:  # its client is gone
            connection.close()
        else:
            protocol.resume()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


async def serve(
    app: Starlette,
    sock: socket.socket,
    grace: float = GRACE,
    *,
    stop: asyncio.Event | None = None,
    started: asyncio.Event | None = None,
    times: Times | None = None,
    handover: Handover | None = None,
) -> None:
    """Serve on a listening socket until ``stop`` is set or the caller is cancelled; then end gracefully.

    Requests in progress get ``grace`` seconds; ``times`` are what clients may take. ``started`` is set once
    connections are accepted. The socket is duplicated, so the caller's stays open for whoever serves next; and so do
    idle connections, with a ``handover``. What the application raises at start or stop is raised here.
    """
    config = uvicorn.Config(
        app,
        lifespan="off",  # run below: what goes wrong in it is raised instead of logged
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE,
        http=HttpProtocol,
        ws=WebSocketProtocol,
        ws_max_size=max(MAX_FRAME, app.state.longest_message + 1),
        ws_per_message_deflate=False,
    )
    async with app.router.lifespan_context(app):
        server = _Server(config, started or asyncio.Event(), times or Times(), handover)
        serving = asyncio.create_task(server.serve([_without_delay(sock)]))
        stopping = asyncio.create_task((stop or asyncio.Event()).wait())
        try:
            await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            began = time.monotonic()
            await _close_sockets(server, app, grace)
            await _end(server, serving, max(0.0, grace - (time.monotonic() - began)))


async def _close_sockets(server: _Server, app: Starlette, grace: float) -> None:
    """Take nobody in any more, and let the engine close its WebSockets with words that clients understand."""
    for listening in server.servers if server.started else ():
        listening.close()
    app.state.stopping.set()
    if app.state.sockets:
        await asyncio.wait(tuple(app.state.sockets), timeout=grace)


async def _end(server: _Server, serving: asyncio.Task[None], grace: float) -> None:
    """Let requests finish, then cancel them (the engine answers that), then leave whoever does not listen."""
    server.end()
    await asyncio.wait((serving,), timeout=grace)
    for request in tuple(server.server_state.tasks):
        request.cancel()
    await asyncio.wait((serving,), timeout=LAST_WORDS)
    server.force_exit = True
    await asyncio.wait((serving,), timeout=LAST_WORDS)
    if serving.cancel():
        await asyncio.gather(serving, return_exceptions=True)
    else:
        serving.result()


def _without_delay(sock: socket.socket) -> socket.socket:
    """A duplicate whose connections send the parts of an answer at once.

    Connections inherit it. asyncio sets it only on sockets it made itself; without it, head and body of an
    answer wait for each other's acknowledgement: 40 ms a request.
    """
    own = sock.dup()
    if own.family in {socket.AF_INET, socket.AF_INET6}:
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return own
