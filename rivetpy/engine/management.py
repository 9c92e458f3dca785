"""The management interface: what the engine is, and actors made, found, listed, destroyed (wire 2, 4)."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request

import rivetpy
from rivetpy.engine.actor_routes import ActorRoutes
from rivetpy.engine.actorjson import actor_json
from rivetpy.engine.api_requests import bad_request, json_body, no_route
from rivetpy.engine.cluster_routes import ClusterRoutes
from rivetpy.engine.copy_routes import CopyRoutes
from rivetpy.engine.http import Answer, json_answer
from rivetpy.engine.inspector.shapes import summary_json
from rivetpy.errors import RivetError, StoreError, actor_not_found
from rivetpy.host import Host
from rivetpy.identity import parse_key
from rivetpy.store import ActorRow, Listing
from rivetpy.wire.bodies import KEEPS_KEYS
from rivetpy.wire.inputs import read_input
from rivetpy.wire.jsonvalue import Json, JsonObject, Value
from rivetpy.wire.routes import segments

PAGE = 100
MAX_PAGE = 1000
CRASH_POLICIES = frozenset({"restart", "sleep", "destroy"})


class Management:
    """Answers for one host. ``details`` are added to ``/metadata``."""

    def __init__(self, host: Host, details: Mapping[str, Json]) -> None:
        self._host = host
        self._details = dict(details)
        self._actor = ActorRoutes(host)
        self._cluster = ClusterRoutes(host)
        self._copies = CopyRoutes(host)

    async def answer(self, request: Request, path: bytes, ray_id: str) -> Answer:
        """The answer to one request. Raises RivetError; ``api.not_found`` when there is no such route."""
        try:
            return await self._route(request, segments(path), ray_id)
        except RivetError as error:
            if error.status < 500 and error.group not in {"api", "auth"}:
                error.status = 400  # what the real engine says, whatever it is
            raise

    async def _route(self, request: Request, path: tuple[str, ...], ray_id: str) -> Answer:
        # The server leaves the body out of the answer to a HEAD.
        match "GET" if request.method == "HEAD" else request.method, path:
            case "GET", ("metadata",):
                return json_answer(self._metadata())
            case "GET", ("health",):
                return json_answer({"runtime": "engine", "status": "ok", "version": rivetpy.__version__})
            case "GET", ("actors",):
                return await self._actors(request)
            case "PUT", ("actors",):
                return await self._get_or_create(request)
            case "POST", ("actors",):
                return await self._create(request)
            case "GET", ("actors", "names"):
                self._cluster.namespace(request)
                return json_answer({"names": self._names(), "pagination": {"cursor": None}})
            case "POST", ("actors", "import"):
                return await self._copies.restore(request, self._cluster.namespace(request))
            case _, ("actors", actor_id, *route) if actor_id:
                row = await self._known(request, actor_id)
                return await self._actor.answer(request, row, tuple(route), ray_id)
            case _, ("actors", *_):
                raise no_route(request.method, path)
        return await self._cluster.answer(request, path)

    def _metadata(self) -> JsonObject:
        return {
            "runtime": "engine",
            "version": rivetpy.__version__,
            "actorNames": self._names(),
            KEEPS_KEYS: True,
            **self._details,
        }

    def _names(self) -> JsonObject:
        return {
            name: {
                "metadata": {
                    "queues": sorted(definition.queues),
                    "actions": sorted(definition.actions),
                    "events": sorted(definition.events),
                    "workflow": definition.has_workflow,
                }
            }
            for name, definition in self._host.registry.actors.items()
        }

    async def _actors(self, request: Request) -> Answer:
        namespace = self._cluster.namespace(request)
        query = request.query_params
        cursor: str | None = None
        if "actor_ids" in query or "actor_id" in query:
            rows = await self._by_ids(request, namespace)
        elif "key" in query:
            rows = await self._by_key(request, namespace)
        else:
            rows, cursor = await self._page(request, namespace)
        actors = [await self._listed(row, summary=_flag(request, "summary")) for row in rows]
        return json_answer({"actors": actors, "pagination": {"cursor": cursor}})

    async def _page(self, request: Request, namespace: str) -> tuple[list[ActorRow], str | None]:
        query = request.query_params
        try:
            listing = Listing(
                namespace,
                query.get("name") or None,
                include_destroyed=_flag(request, "include_destroyed"),
                limit=_limit(request),
                cursor=query.get("cursor") or None,
            )
            return await self._host.list(listing)
        except StoreError as error:
            if error.code != "invalid_cursor":
                raise
            raise bad_request("'cursor' is none that a page returned.") from None

    async def _by_ids(self, request: Request, namespace: str) -> list[ActorRow]:
        """Unknown ids are dropped; so are destroyed actors, unless asked for: who polls is done sooner."""
        query = request.query_params
        ids = [
            actor_id
            for text in (*query.getlist("actor_ids"), *query.getlist("actor_id"))
            for actor_id in text.split(",")
        ]
        name, destroyed = query.get("name"), _flag(request, "include_destroyed")
        rows = [await self._host.get(actor_id) for actor_id in dict.fromkeys(ids[:MAX_PAGE])]
        return [
            row
            for row in rows
            if row is not None
            and row.namespace == namespace
            and (name is None or row.name == name)
            and (destroyed or row.destroyed_at is None)
        ]

    async def _by_key(self, request: Request, namespace: str) -> list[ActorRow]:
        name = request.query_params.get("name")
        if not name:
            raise RivetError("validation", "invalid_input", "A key belongs to a name: ?name=…&key=….")
        row = await self._host.find(namespace, name, parse_key(request.query_params["key"]))
        return [] if row is None else [row]

    async def _listed(self, row: ActorRow, *, summary: bool) -> JsonObject:
        shown = actor_json(row, awake=self._host.is_awake(row.id))
        if summary:
            shown["summary"] = summary_json(await self._host.view(row.id))
        return shown

    async def _get_or_create(self, request: Request) -> Answer:
        namespace, name, key, given = await _wanted(request, self._cluster.namespace(request))
        row, created = await self._host.get_or_create(namespace, name, parse_key(key), given)
        shown = actor_json(row, awake=self._host.is_awake(row.id))
        return json_answer({"actor": shown, "created": created})

    async def _create(self, request: Request) -> Answer:
        namespace, name, key, given = await _wanted(request, self._cluster.namespace(request))
        row = await self._host.create(namespace, name, parse_key(key), given)
        return json_answer({"actor": actor_json(row, awake=self._host.is_awake(row.id))})

    async def _known(self, request: Request, actor_id: str) -> ActorRow:
        namespace = self._cluster.namespace(request)
        row = await self._host.get(actor_id)
        if row is None or row.destroyed_at is not None or row.namespace != namespace:
            raise actor_not_found(actor_id)
        return row


def _flag(request: Request, name: str) -> bool:
    return request.query_params.get(name) in {"true", "1"}


def _limit(request: Request) -> int:
    text = request.query_params.get("limit", str(PAGE))
    if not text.isdecimal() or len(text) > 6 or not int(text) >= 1:
        raise bad_request(f"'limit' is a number from 1 to {MAX_PAGE}, not {text[:20]!r}.")
    return min(int(text), MAX_PAGE)


async def _wanted(request: Request, namespace: str) -> tuple[str, str, str, Value]:
    """Namespace, name, key and input of the actor that a body asks for."""
    body = await json_body(request)
    name, key, given = body.get("name"), body.get("key"), body.get("input")
    if not isinstance(name, str) or not name:
        raise bad_request("'name' is the actor's name; it is missing.")
    if key is not None and not isinstance(key, str):
        raise bad_request("'key' is one string, its parts joined with '/'.")
    if given is not None and not isinstance(given, str):
        raise bad_request("'input' is base64 of CBOR.")
    _check_placement(body)
    return namespace, name, key or "/", read_input(given) if given else None


def _check_placement(body: JsonObject) -> None:
    """What only a cluster acts on, but everybody may send."""
    datacenter = body.get("datacenter")
    if datacenter not in {None, "default"}:
        raise RivetError("datacenter", "not_found", f"There is no datacenter {datacenter!r}.", status=400)
    if body.get("crash_policy", "sleep") not in CRASH_POLICIES:
        raise bad_request(f"'crash_policy' is one of {', '.join(sorted(CRASH_POLICIES))}.")
