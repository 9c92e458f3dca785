"""What tools for clusters ask of the management interface: namespaces, and a cluster of one machine (wire 4)."""

from __future__ import annotations

import time

from starlette.requests import Request

import rivetpy
from rivetpy.engine.api_requests import bad_request, json_body, no_route
from rivetpy.engine.http import Answer, json_answer
from rivetpy.errors import RivetError
from rivetpy.host import Host
from rivetpy.host.namespaces import Namespace
from rivetpy.identity import new_id
from rivetpy.wire.jsonvalue import Json, JsonObject

DATACENTER = POOL = "default"


class ClusterRoutes:
    """Answers for one host: the only worker there is, in the only pool of the only datacenter."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._key = new_id()
        self._began = _now()

    async def answer(self, request: Request, path: tuple[str, ...]) -> Answer:
        """The answer to one request. Raises RivetError ``api.not_found`` when there is no such route."""
        match "GET" if request.method == "HEAD" else request.method, path:
            case "GET", ("namespaces",):
                return _page("namespaces", [_namespace_json(each) for each in self._host.namespaces.all()])
            case "POST", ("namespaces",):
                return await self._create(request)
            case "GET", ("datacenters",):
                here = {"label": 1, "name": DATACENTER, "url": str(request.base_url)}
                return _page("datacenters", [here])
        if path[:1] not in {("envoys",), ("runners",), ("runner-configs",)}:
            raise no_route(request.method, path)
        namespace = self.namespace(request)
        match "GET" if request.method == "HEAD" else request.method, path:
            case "GET", ("envoys",):
                return _page("envoys", [self._worker(namespace)] if _wanted(request) else [])
            case "GET", ("runners",):
                return _page("runners", [])  # the kind of worker before envoys
            case "GET", ("runners", "names"):
                return _page("names", [POOL])
            case "GET", ("runner-configs",):
                shown: JsonObject = (
                    {POOL: {"datacenters": {DATACENTER: {"normal": {}}}}} if _wanted(request) else {}
                )
                return json_answer({"runner_configs": shown, "pagination": {"cursor": None}})
            case "PUT", ("runner-configs", pool):
                return await self._configure(request, pool)
        raise no_route(request.method, path)

    def namespace(self, request: Request) -> str:
        """The namespace of a request. Raises RivetError ``api.bad_request``, ``namespace.not_found``."""
        name = request.query_params.get("namespace")
        if not name:
            raise bad_request("The query parameter 'namespace' is missing.")
        self._host.namespaces.check(name)
        return name

    async def _create(self, request: Request) -> Answer:
        body = await json_body(request)
        name = body.get("name")
        display_name = body.get("display_name", name)
        if not isinstance(name, str) or not isinstance(display_name, str):
            raise bad_request("'name' and 'display_name' are strings.")
        made = await self._host.namespaces.create(name, display_name)
        return json_answer({"namespace": _namespace_json(made)})

    async def _configure(self, request: Request, pool: str) -> Answer:
        """There is nothing to configure; whoever asks for what there is gets it."""
        asked = (await json_body(request)).get("datacenters")
        configs = list(asked.values()) if isinstance(asked, dict) else [None]
        if pool != POOL or not all(isinstance(each, dict) and "serverless" not in each for each in configs):
            raise RivetError(
                "runner_config",
                "invalid",
                f"This engine runs the actors itself, in the pool {POOL!r}; it hands none to another server.",
                status=400,
            )
        return json_answer({"endpoint_config_changed": False})

    def _worker(self, namespace: str) -> JsonObject:
        """The engine's own process, as a cluster shows its workers."""
        return {
            "envoy_key": self._key,
            "namespace_id": namespace,
            "datacenter": DATACENTER,
            "pool_name": POOL,
            "version": 1,
            "slots": self._host.awake,
            "create_ts": self._began,
            "stop_ts": None,
            "last_ping_ts": _now(),
            "last_connected_ts": self._began,
            "last_rtt": 0,
            "metadata": {"rivetpy": {"version": rivetpy.__version__}},
        }


def _page(name: str, items: list[Json]) -> Answer:
    return json_answer({name: items, "pagination": {"cursor": None}})


def _wanted(request: Request) -> bool:
    """Whether the pool there is is among those asked for."""
    return request.query_params.get("name") in {None, "", POOL}


def _namespace_json(namespace: Namespace) -> JsonObject:
    return {
        "namespace_id": namespace.name,
        "name": namespace.name,
        "display_name": namespace.display_name,
        "create_ts": namespace.created_at,
    }


def _now() -> int:
    return time.time_ns() // 1_000_000
