"""The management routes that copy actors: export, import, fork (spec cli)."""

from __future__ import annotations

from starlette.requests import Request

from rivetpy.engine.actorjson import actor_json
from rivetpy.engine.http import Answer, json_answer, read_body
from rivetpy.errors import RivetError
from rivetpy.host import Host, archive
from rivetpy.host.copying import Copy
from rivetpy.identity import parse_key
from rivetpy.store import ActorRow
from rivetpy.wire.jsonvalue import JsonObject

BINARY = b"application/octet-stream"


class CopyRoutes:
    """Answers for one host."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def export(self, row: ActorRow) -> Answer:
        """The actor as a file."""
        return Answer((await self._host.export(row.id)).pack(), content_type=BINARY)

    async def restore(self, request: Request, namespace: str) -> Answer:
        """The actor of the file that is the body, under ``?key=`` if given."""
        given = archive.unpack(await read_body(request, archive.MAX_SIZE))
        key = request.query_params.get("key")
        return json_answer(
            copy_json(await self._host.restore(namespace, given, None if key is None else parse_key(key)))
        )

    async def fork(self, row: ActorRow, body: JsonObject) -> Answer:
        """The actor under another ``key``, as it was before the entry at ``location`` if given."""
        key, location = body.get("key"), body.get("location")
        if not isinstance(key, str) or not isinstance(location, str | None):
            raise RivetError("api", "bad_request", "'key' is the new key, 'location' an entry's or left out.")
        return json_answer(copy_json(await self._host.fork(row.id, parse_key(key), location)))


def copy_json(copy: Copy) -> JsonObject:
    """A copy that was made: the actor, and how much is in it."""
    return {
        **actor_json(copy.row, awake=False),
        "entries": copy.entries,
        "messages": copy.messages,
        "left_out": copy.left_out,
    }
