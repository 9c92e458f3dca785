"""Which engine a client talks to: from arguments, the URL and the environment (wire 1)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from urllib.parse import quote, unquote, urlsplit

from rivetpy.errors import RivetError

DEFAULT = "http://localhost:6420"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An engine's address. ``base`` is the path in front of every request, without a slash at its end."""

    scheme: str
    host: str
    port: int
    base: str = ""
    namespace: str = "default"
    token: str | None = field(default=None, repr=False)
    #: Which workers a new actor may be given to; the local engine has one such pool.
    pool: str = "default"

    @property
    def authority(self) -> str:
        """Host and port as a URL and a Host header write them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """The address without namespace and token."""
        return f"{self.scheme}://{self.authority}{self.base}"


def find_endpoint(
    endpoint: str | None = None,
    token: str | None = None,
    namespace: str | None = None,
    pool: str | None = None,
) -> Endpoint:
    """The endpoint from arguments, else RIVET_ENGINE or RIVET_ENDPOINT, RIVET_TOKEN, RIVET_NAMESPACE and RIVET_POOL,
    else the local engine.

    ``http://namespace:token@host/base`` carries both. Raises RivetError ``client.invalid_endpoint``.
    """
    text = endpoint or os.environ.get("RIVET_ENGINE") or os.environ.get("RIVET_ENDPOINT") or DEFAULT
    try:
        parts = urlsplit(text)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError as error:
        raise _invalid(f"{error}.") from None
    if port is None or not parts.hostname:
        raise _invalid(f"it looks like {DEFAULT}.")
    if parts.query or parts.fragment:
        raise _invalid("it has no query and no fragment.")
    return Endpoint(
        scheme=parts.scheme,
        host=parts.hostname,
        port=port,
        base=quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~"),
        namespace=_one("namespace", namespace, parts.username, "RIVET_NAMESPACE") or "default",
        token=_one("token", token, parts.password, "RIVET_TOKEN"),
        pool=pool or os.environ.get("RIVET_POOL") or "default",
    )


def followed(endpoint: Endpoint, to: str, token: str, namespace: str) -> Endpoint:
    """Where an endpoint's metadata sends its clients; what it leaves empty stays (wire 2).

    Raises RivetError ``client.invalid_endpoint``.
    """
    found = find_endpoint(to)
    return replace(
        found, token=token or endpoint.token, namespace=namespace or endpoint.namespace, pool=endpoint.pool
    )


def _one(what: str, argument: str | None, in_url: str | None, variable: str) -> str | None:
    if argument and in_url:
        raise _invalid(f"the {what} is given twice, in the URL and as an argument.")
    return argument or (unquote(in_url) if in_url else None) or os.environ.get(variable) or None


def _invalid(problem: str) -> RivetError:
    """The text itself stays out of the message: it may hold a token."""
    return RivetError("client", "invalid_endpoint", f"The endpoint can't be used: {problem}", status=400)
