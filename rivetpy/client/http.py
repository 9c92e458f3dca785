"""The asynchronous transport, over httpx: pooled connections, and the retries that are safe."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import httpx

from rivetpy.client.calls import Call, Reply, raise_lost, raise_not_connected
from rivetpy.client.endpoint import Endpoint
from rivetpy.errors import RivetError

T = TypeVar("T")

#: Seconds. An answer may take as long as the server lets it; only connecting is bounded.
TIMEOUT = httpx.Timeout(None, connect=10)
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=100)


class HttpTransport:
    """Carries calls to one endpoint, any number at a time."""

    def __init__(self, endpoint: Endpoint, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.endpoint = endpoint
        self._http = httpx.AsyncClient(
            timeout=TIMEOUT,
            limits=LIMITS,
            transport=transport,
            # Reading all the certificates of the world takes a third of a second; plain HTTP uses none.
            verify=endpoint.scheme == "https",
            # The local engine is never behind a proxy that the environment names.
            trust_env=endpoint.host not in _LOCAL,
        )

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

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def _exchange(self, call: Call[T]) -> Reply:
        url = f"{_origin(self.endpoint)}{call.path}"
        try:
            response = await self._http.request(call.method, url, content=call.body, headers=call.headers)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise_not_connected(self.endpoint, error or type(error).__name__)
        except httpx.HTTPError as error:
            raise_lost(self.endpoint, str(error) or type(error).__name__)
        return Reply(response.status_code, response.headers, response.content)


_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


def _origin(endpoint: Endpoint) -> str:
    return endpoint.url.removesuffix(endpoint.base) if endpoint.base else endpoint.url
