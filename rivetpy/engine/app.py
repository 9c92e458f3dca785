"""The engine as an ASGI application: requests pass the door, then go to an actor or to management."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from rivetpy.engine.door import Door, cors_headers
from rivetpy.engine.gateway import Gateway
from rivetpy.engine.http import Answer, cut_short, error_answer, raw_path
from rivetpy.engine.management import Management
from rivetpy.engine.page_files import PageFiles
from rivetpy.engine.raw import RawAnswer
from rivetpy.engine.websockets import WebSockets
from rivetpy.host import Host
from rivetpy.identity import new_id
from rivetpy.wire import routes
from rivetpy.wire.jsonvalue import Json


class Engine:
    """The ASGI application proper; set ``stopping`` to end the waits of clients."""

    def __init__(self, host: Host, door: Door, details: Mapping[str, Json]) -> None:
        self.stopping = asyncio.Event()
        self._door = door
        self._gateway = Gateway(host, self.stopping)
        self._management = Management(host, details)
        self._page = PageFiles()
        self.sockets = WebSockets(host, door, self.stopping)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self.sockets.serve(scope, receive, send)
            return
        request = Request(scope, receive)
        ray_id = new_id()
        answer: Answer | RawAnswer
        try:
            answer = await self._answer(request, ray_id)
        except ClientDisconnect:
            return
        except asyncio.CancelledError:
            if not self.stopping.is_set():
                raise
            answer = error_answer(cut_short(), ray_id)  # the server's grace is over; these are the last words
        except Exception as error:
            answer = error_answer(error, ray_id)
        answer.headers.append((b"x-rivet-ray-id", ray_id.encode()))
        answer.headers += cors_headers(request)
        await answer.send(send)

    async def _answer(self, request: Request, ray_id: str) -> Answer | RawAnswer:
        path = raw_path(request)
        if request.method == "OPTIONS" and "access-control-request-method" in request.headers:
            return self._door.preflight(request, gateway=path.startswith(routes.PREFIX))
        query: bytes = request.scope["query_string"]
        target = routes.parse(path, query) or routes.by_headers(path, query, request.headers)
        page = None if target else self._page.answer(request, path)
        if page is not None:
            self._door.admit_to_page(request)
            return page
        self._door.admit(request, target.token if target else None)
        if target is not None:
            return await self._gateway.answer(request, target, ray_id)
        return await self._management.answer(request, routes.without_token(path), ray_id)


def create_app(
    host: Host,
    *,
    token: str | None = None,
    local_only: bool = True,
    details: Mapping[str, Json] | None = None,
) -> Starlette:
    """The engine around a host; its lifespan starts and stops the host.

    With ``token`` every request must carry it. Without one, ``local_only`` (right for an engine that listens
    on loopback) refuses requests that pages of other sites make. ``details`` are added to ``/metadata``.
    ``app.state.stopping``, once set, ends the waits of clients and their WebSockets, whose tasks are in
    ``app.state.sockets`` while there are any. ``app.state.longest_message`` is the size that a server must let in.
    """
    engine = Engine(host, Door(token, local_only), details or {})

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await host.start()
        try:
            yield
        finally:
            engine.stopping.set()
            await host.stop()

    app = Starlette(lifespan=lifespan)
    # Not a route: routes see the decoded path, in which a slash inside a name can't be told from the others.
    app.router.default = engine
    app.state.stopping = engine.stopping
    app.state.sockets = engine.sockets.open
    app.state.longest_message = max(
        (each.options.max_incoming_message_size for each in host.registry.actors.values()), default=0
    )
    return app
