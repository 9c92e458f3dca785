"""The engine in memory, reached over ASGI without a socket: for tests of what it answers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
from starlette.applications import Starlette

from rivetpy import Registry
from rivetpy.clock import Clock
from rivetpy.engine.app import create_app
from rivetpy.host import Host
from rivetpy.store.memory import MemoryStore
from tests.support.jump import JumpClock

MADE = "rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default&rvt-crash-policy=sleep"
GOT = "rvt-namespace=default&rvt-method=get"


class Client:
    """Requests to one app, as httpx responses."""

    def __init__(self, app: Starlette, host: Host, http: httpx.AsyncClient) -> None:
        self.app = app
        self.host = host
        self.http = http

    async def get(self, path: str, **options: Any) -> httpx.Response:
        return await self.http.get(path, **options)

    async def act(
        self, name: str, *args: Any, actor: str = "counter", key: str = "main", **headers: str
    ) -> httpx.Response:
        """An action by name and key, the actor made when it isn't there."""
        return await self.post(
            f"/gateway/{actor}/action/{name}?{MADE}&rvt-key={key}", {"args": args}, headers
        )

    async def send(self, queue: str, key: str = "main", **message: Any) -> httpx.Response:
        return await self.post(f"/gateway/counter/queue/{queue}?{MADE}&rvt-key={key}", message)

    async def inspect(
        self, method: str, route: str, body: Any = None, *, actor: str = "counter"
    ) -> httpx.Response:
        """A route of the inspector, through the management interface."""
        row = await self.host.find("default", actor, ("main",))
        assert row is not None
        path = f"/actors/{row.id}/inspector/{route}{'&' if '?' in route else '?'}namespace=default"
        return await self.http.request(method, path, json=body)

    async def post(self, path: str, body: Any, headers: Mapping[str, str] | None = None) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.http.post(path, content=content, headers=headers)


@contextlib.asynccontextmanager
async def serving(
    registry: Registry, *, clock: Clock | None = None, base_url: str = "http://localhost:6420", **options: Any
) -> AsyncIterator[Client]:
    """A started engine; ``options`` are those of `create_app`. For the jump loop, with its clock by default."""
    host = Host(registry, MemoryStore(), clock or JumpClock())
    app = create_app(host, **options)
    transport = httpx.ASGITransport(app, raise_app_exceptions=True)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url=base_url) as http,
    ):
        yield Client(app, host, http)


def error_of(response: httpx.Response) -> tuple[int, str]:
    """Status and ``group.code`` of an error; the header must say the same as the body."""
    body = response.json()
    name = f"{body['group']}.{body['code']}"
    assert response.headers["x-rivet-error"] == name
    return response.status_code, name
