"""The management routes of one actor: its end, its sleep, copies of it, and what it holds (wire 4)."""

from __future__ import annotations

import base64

from starlette.requests import Request

from rivetpy.engine.actors import options_of
from rivetpy.engine.api_requests import MAX_BODY, json_body, no_route
from rivetpy.engine.copy_routes import CopyRoutes
from rivetpy.engine.http import Answer, json_answer, read_body
from rivetpy.engine.inspector.access import KEY, token_of
from rivetpy.engine.inspector.routes import Inspector
from rivetpy.errors import RivetError
from rivetpy.host import Host
from rivetpy.store import ActorRow
from rivetpy.wire.jsonvalue import JsonObject


class ActorRoutes:
    """Answers for one host."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._copies = CopyRoutes(host)
        self._inspector = Inspector(host)

    async def answer(self, request: Request, row: ActorRow, route: tuple[str, ...], ray_id: str) -> Answer:
        """The answer below ``/actors/{id}``. Raises RivetError."""
        match "GET" if request.method == "HEAD" else request.method, route:
            case "DELETE", ():
                await self._host.destroy(row.id)
            case "POST", ("sleep",):
                await self._host.sleep(row.id)
            case "POST", ("wake",):
                await self._host.wake(row.id)
            case "POST", ("reschedule",):  # somewhere else, where there is such a place
                await self._host.sleep(row.id)
                await self._host.wake(row.id)
            case "GET", ("kv", "keys", key):
                return json_answer(await self._value(row, key))
            case "GET", ("export",):
                return await self._copies.export(row)
            case "POST", ("fork",):
                return await self._copies.fork(row, await json_body(request))
            case _, ("inspector", *below):
                return await self._inspect(request, row, tuple(below), ray_id)
            case _:
                raise no_route(request.method, ("actors", row.id, *route))
        return json_answer({})

    async def _value(self, row: ActorRow, coded: str) -> JsonObject:
        """What an official runtime keeps of an actor by key; here only the inspector's token is kept so."""
        if _key(coded) != KEY:
            raise RivetError(
                "actor", "kv_key_not_found", f"The actor keeps nothing at the key {coded[:40]!r}."
            )
        token = await token_of(self._host, row.id)
        return {"value": base64.b64encode(token.encode()).decode(), "update_ts": row.created_at}

    async def _inspect(self, request: Request, row: ActorRow, route: tuple[str, ...], ray_id: str) -> Answer:
        # Whoever edits a state sends all of it, which may be more than an actor takes in a message.
        longest = max(MAX_BODY, options_of(self._host, row.name).max_incoming_message_size)
        body = await read_body(request, longest)
        query: bytes = request.scope["query_string"]
        return await self._inspector.answer(request, row, route, query, body, ray_id)


def _key(coded: str) -> bytes | None:
    """A key of the path, in either alphabet of base64, padded or not."""
    bare = coded.rstrip("=")
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_")
    except ValueError:
        return None
