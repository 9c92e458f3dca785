"""WebSockets of the engine: through the door, to their actor, or closed with the reason why not (wire 5, 7)."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from rivetpy.codec import Value
from rivetpy.engine.actors import actor_of
from rivetpy.engine.connections import EventFrames, Talk
from rivetpy.engine.door import Door, bearer
from rivetpy.engine.http import for_client, raw_path
from rivetpy.engine.inspector.access import check_token
from rivetpy.engine.inspector.requests import texts
from rivetpy.engine.raw import check_hook, websocket_for_actor
from rivetpy.engine.sockets import BAD_DATA, FAILED, NORMAL, POLICY, PROTOCOL, Gone, Socket, reason_of
from rivetpy.errors import RivetError
from rivetpy.host import Host
from rivetpy.identity import new_id
from rivetpy.wire import routes
from rivetpy.wire.handshake import Offer, read_offer
from rivetpy.wire.routes import ById, Target, segments


class WebSockets:
    """Serves every WebSocket of an engine. ``stopping`` ends them; `open` holds the tasks that are left."""

    def __init__(self, host: Host, door: Door, stopping: asyncio.Event) -> None:
        self.open: set[asyncio.Task[object]] = set()
        self._host = host
        self._door = door
        self._stopping = stopping
        self._frames = EventFrames()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One socket, from its handshake to its end."""
        socket = Socket(receive, send)
        ray_id = new_id()
        task = asyncio.current_task()
        assert task is not None
        self.open.add(task)
        try:
            await socket.accept()
            await self._serve(HTTPConnection(scope), socket, ray_id)
        except Gone:
            pass
        except Exception as error:
            shown = for_client(error, ray_id)
            unreadable = shown.code == "unsupported_websocket_encoding"
            await socket.close(BAD_DATA if unreadable else FAILED, reason_of(shown, ray_id))
        finally:
            self.open.discard(task)

    async def _serve(self, request: HTTPConnection, socket: Socket, ray_id: str) -> None:
        offer = read_offer(request.scope.get("subprotocols", ()))
        target = _target(request, offer)
        self._door.admit(request, (target.token if target else None) or offer.token)
        if target is None:
            raise RivetError("guard", "no_route", "There is no WebSocket at this path.", status=404)
        if self._stopping.is_set():
            raise RivetError("actor", "restarting", "The engine is stopping. Try again in a moment.")
        match segments(target.path):
            case ("connect",):
                await self._talk(socket, target, offer, ray_id)
            case ("inspector", "connect"):
                await self._inspect(request, socket, target, offer, ray_id)
            case _:
                await self._raw(request, socket, target, offer.params())

    async def _talk(self, socket: Socket, target: Target, offer: Offer, ray_id: str) -> None:
        encoding, params = offer.message_encoding(), offer.params()
        row = await actor_of(self._host, target.actor)
        talk = Talk(self._host, row, encoding, socket, ray_id, self._frames)
        await talk.run(params, self._stopping)

    async def _inspect(
        self, request: HTTPConnection, socket: Socket, target: Target, offer: Offer, ray_id: str
    ) -> None:
        # Its messages are a tenth of all that an engine has to import, and most engines are never asked for them.
        from rivetpy.engine.inspector.socket import Inspection, framing_of

        row = await actor_of(self._host, target.actor)
        framing = framing_of(next(iter(texts(target.query, "protocol_version")), None))
        if framing is None:
            await socket.close(PROTOCOL, "inspector.invalid_protocol_version")
            return
        try:
            await check_token(self._host, row.id, offer.inspector_token or bearer(request))
        except RivetError as error:
            if error.group != "inspector":
                raise
            await socket.close(POLICY, "inspector.unauthorized")
            return
        await Inspection(self._host, row, socket, framing, ray_id).run(self._stopping)

    async def _raw(self, request: HTTPConnection, socket: Socket, target: Target, params: Value) -> None:
        row = await actor_of(self._host, target.actor)
        check_hook(self._host, row.name, "on_websocket")
        opened = websocket_for_actor(request, target.path, target.query, socket, self._stopping)
        with contextlib.suppress(WebSocketDisconnect):  # how the actor's code is told of the end
            await self._host.serve(row.id, "on_websocket", opened, params)
        if self._stopping.is_set():
            raise RivetError("actor", "restarting", "The engine is stopping. Try again in a moment.")
        await socket.close(NORMAL, "")


def _target(request: HTTPConnection, offer: Offer) -> Target | None:
    path, query = raw_path(request), request.scope["query_string"]
    target = routes.parse(path, query)
    if target is None and offer.target == "actor" and offer.actor:
        return Target(ById(offer.actor), path, query)
    return target
