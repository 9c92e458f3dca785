"""The client: `create_client`, and behind it requests as values carried by either of two transports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rivetpy.client.connection import Connection
    from rivetpy.client.handles import Actors, Client, Handle
    from rivetpy.client.listeners import Events
    from rivetpy.client.sync import SyncClient, SyncConnection, SyncHandle, create_sync_client
    from rivetpy.wire.bodies import QueueReply
    from rivetpy.wire.encodings import EncodingName

__all__ = [
    "Actors",
    "Client",
    "Connection",
    "EncodingName",
    "Events",
    "Handle",
    "QueueReply",
    "SyncClient",
    "SyncConnection",
    "SyncHandle",
    "create_client",
    "create_sync_client",
]

#: Loaded when first asked for: the command line uses the other transport, and has no time for asyncio.
_LAZY = dict.fromkeys(("Actors", "Client", "Handle"), "rivetpy.client.handles") | {
    "Connection": "rivetpy.client.connection",
    "Events": "rivetpy.client.listeners",
    "EncodingName": "rivetpy.wire.encodings",
    "QueueReply": "rivetpy.wire.bodies",
    **dict.fromkeys(
        ("SyncClient", "SyncConnection", "SyncHandle", "create_sync_client"), "rivetpy.client.sync"
    ),
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
    pool: str | None = None,
    encoding: EncodingName = "bare",
    headers: Mapping[str, str] | None = None,
    skip_ready_wait: bool = False,
    disable_metadata_lookup: bool = False,
) -> Client:
    """A client of the engine at ``endpoint``.

    What is left out comes from the URL (``http://namespace:token@host``), then from RIVET_ENGINE or RIVET_ENDPOINT,
    RIVET_TOKEN, RIVET_NAMESPACE and RIVET_POOL; then it is the local engine, namespace and pool ``default``.
    ``encoding`` is how values travel: ``bare`` and ``cbor`` are smaller, ``json`` can be read. ``headers`` are on
    every request. ``skip_ready_wait`` has the engine hand requests to actors that are not ready yet, too. Nothing is
    sent before the first call; that one asks the engine first where its clients are to go, unless
    ``disable_metadata_lookup``. Raises RivetError ``client.invalid_endpoint``, ``client.unknown_encoding``.
    """
    from rivetpy.client.backend import Remote
    from rivetpy.client.endpoint import find_endpoint
    from rivetpy.client.handles import Client
    from rivetpy.client.http import HttpTransport
    from rivetpy.client.requests import Requests
    from rivetpy.errors import RivetError
    from rivetpy.wire.encodings import encoding_named

    known = encoding_named(encoding)
    if known is None:
        problem = f"There is no encoding {encoding!r}; use 'bare', 'cbor' or 'json'."
        raise RivetError("client", "unknown_encoding", problem, status=400)
    where = find_endpoint(endpoint, token, namespace, pool)
    requests = Requests(where, headers, known, skip_ready_wait)
    return Client(Remote(requests, HttpTransport(where), None if disable_metadata_lookup else HttpTransport))
