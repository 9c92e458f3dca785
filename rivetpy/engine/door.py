"""Who may come in: Host and Origin against rebinding, the token, and the CORS headers (wire 5.6)."""

from __future__ import annotations

import hmac
import re

from starlette.requests import HTTPConnection, Request

from rivetpy.engine.http import Answer, Headers
from rivetpy.errors import RivetError

METHODS = b"GET, POST, PUT, DELETE, OPTIONS, PATCH"
_LOCAL_HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?", re.IGNORECASE)
_LOCAL_ORIGIN = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?", re.IGNORECASE)


class Door:
    """Decides about each request.

    With a ``token`` whoever has it comes in, from anywhere. Without one, ``local_only`` keeps out pages of
    other sites: their requests carry a foreign Origin, or, when they made a name point here, a foreign Host.
    """

    def __init__(self, token: str | None, local_only: bool) -> None:
        self._token = token.encode() if token else None
        self._local_only = local_only

    def admit(self, request: HTTPConnection, url_token: str | None) -> None:
        """Raises RivetError ``auth.forbidden`` when the request may not come in."""
        if self._token is not None:
            self._check_token(request, url_token)
        elif self._local_only:
            self._check_local(request)
            self._check_sender(request)

    def admit_to_page(self, request: HTTPConnection) -> None:
        """The page's own files hold nothing of anybody, and ask for the token themselves.

        Raises RivetError ``auth.forbidden`` for names that only point here.
        """
        if self._token is None and self._local_only:
            self._check_local(request)

    def preflight(self, request: Request, gateway: bool) -> Answer:
        """The answer to a browser that asks first. It never carries a token, so none is asked for."""
        if self._token is None and self._local_only:
            self._check_local(request)
        asked = request.headers.get("access-control-request-headers", "")
        headers = [
            (b"access-control-allow-methods", METHODS),
            (b"access-control-allow-headers", asked.encode("latin-1")),
            (b"access-control-max-age", b"86400"),
        ]
        if gateway:
            return Answer(b"", 204, headers=headers)
        return Answer(b"", 200, headers=[(b"allow", METHODS), *headers])

    def _check_token(self, request: HTTPConnection, url_token: str | None) -> None:
        given = (
            bearer(request).encode("latin-1"),
            request.headers.get("x-rivet-token", "").encode("latin-1"),
            (url_token or "").encode(),
        )
        # No `any`: how long it takes says nothing about which of them was right.
        if not sum(hmac.compare_digest(token, self._token or b"") for token in given):
            raise RivetError(
                "auth",
                "forbidden",
                "This engine needs its token: Authorization: Bearer …, or create_client(token=…).",
            )

    def _check_local(self, request: HTTPConnection) -> None:
        for host in request.headers.getlist("host") or [""]:
            self._check_host(host)
        for origin in request.headers.getlist("origin"):
            self._check_origin(origin)

    def _check_host(self, host: str) -> None:
        if not _LOCAL_HOST.fullmatch(host):
            raise RivetError(
                "auth",
                "forbidden",
                f"This engine answers to localhost, not to {host[:100]!r}; give it a token to open it.",
            )

    def _check_origin(self, origin: str) -> None:
        if not _LOCAL_ORIGIN.fullmatch(origin):
            raise RivetError(
                "auth",
                "forbidden",
                f"Pages from {origin[:100]!r} may not use this engine; give it a token to let them.",
            )

    def _check_sender(self, request: HTTPConnection) -> None:
        """A link or a picture of another site asks without an Origin, yet its GET could make an actor."""
        if "origin" not in request.headers and request.headers.get("sec-fetch-site") == "cross-site":
            raise RivetError(
                "auth",
                "forbidden",
                "Pages of other sites may not use this engine; give it a token to let them.",
            )


def bearer(request: HTTPConnection) -> str:
    """The token of ``Authorization: Bearer``, empty when there is none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def cors_headers(request: Request) -> Headers:
    """What lets a page of another origin read the answer."""
    origin = request.headers.get("origin")
    headers = [
        (b"access-control-allow-origin", origin.encode("latin-1") if origin else b"*"),
        (b"access-control-allow-credentials", b"true"),
        (b"access-control-expose-headers", b"*"),
    ]
    if origin:
        headers.append((b"vary", b"Origin"))
    return headers
