"""The client: `create_client`, and behind it requests as values carried by either of two transports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rivetpy.client.handles import Actors, Client, Handle
    from rivetpy.wire.bodies import QueueReply

__all__ = ["Actors", "Client", "Handle", "QueueReply", "create_client"]

#: Loaded when first asked for: the command line uses the other transport, and has no time for asyncio.
_LAZY = dict.fromkeys(("Actors", "Client", "Handle"), "rivetpy.client.handles") | {
    "QueueReply": "rivetpy.wire.bodies"
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'rivetpy.client' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_LAZY[name]), name)


def create_client(
    endpoint: str | None = None,
    token: str | None = None,
    namespace: str | None = None,
    *,
    encoding: str = "json",
    headers: Mapping[str, str] | None = None,
) -> Client:
    """A client of the engine at ``endpoint``.

    What is left out comes from the URL (``http://namespace:token@host``), then from RIVET_ENDPOINT,
    RIVET_TOKEN and RIVET_NAMESPACE; then it is the local engine and namespace ``default``. ``headers`` are on
    every request. Raises RivetError ``client.invalid_endpoint``. Nothing is sent before the first call.
    """
    from rivetpy.client.backend import Remote
    from rivetpy.client.endpoint import find_endpoint
    from rivetpy.client.handles import Client, check_encoding
    from rivetpy.client.http import HttpTransport
    from rivetpy.client.requests import Requests

    check_encoding(encoding)
    where = find_endpoint(endpoint, token, namespace)
    return Client(Remote(Requests(where, headers), HttpTransport(where)))
