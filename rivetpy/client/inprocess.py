"""The transport of tests: calls an engine's ASGI application in this process, without a network."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TypeVar

from rivetpy.client.calls import Call, Reply
from rivetpy.client.endpoint import Endpoint
from rivetpy.codec import Value

T = TypeVar("T")
Event = MutableMapping[str, Value]
Application = Callable[
    [Event, Callable[[], Awaitable[Event]], Callable[[Event], Awaitable[None]]], Awaitable[None]
]


class InProcessTransport:
    """Carries calls to an application. Nothing is ever sent twice."""

    def __init__(self, endpoint: Endpoint, application: Application) -> None:
        self.endpoint = endpoint
        self._application = application

    async def run(self, call: Call[T]) -> T:
        """Make the call and return its result. Raises RivetError."""
        path, _, query = call.path.partition("?")
        headers = {"host": self.endpoint.authority, **call.headers}
        scope: Event = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": call.method,
            "scheme": self.endpoint.scheme,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
        }
        sent: list[Event] = []

        request: list[Event] = [{"type": "http.request", "body": call.body or b"", "more_body": False}]

        async def receive() -> Event:
            if not request:
                await asyncio.Event().wait()  # nobody hangs up
            return request.pop()

        async def send(event: Event) -> None:
            sent.append(event)

        await self._application(scope, receive, send)
        start = next(event for event in sent if event["type"] == "http.response.start")
        body = b"".join(event.get("body", b"") for event in sent if event["type"] == "http.response.body")
        names = {name.decode().lower(): value.decode("latin-1") for name, value in start["headers"]}
        return call.result(Reply(start["status"], names, body))

    async def close(self) -> None:
        """Nothing to close."""
