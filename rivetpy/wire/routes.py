"""Where a gateway request goes, read from its raw path and query without decoding too early (wire 5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn
from urllib.parse import unquote_to_bytes

from rivetpy.errors import RivetError
from rivetpy.wire.inputs import read_input
from rivetpy.wire.jsonvalue import Value

PREFIX = b"/gateway/"
_TOKEN = re.compile(rb"(?<=^/gateway/)([^/@]*)@[^/]*")
_BAD_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")

#: The parameters of the query form, without their ``rvt-``.
_KNOWN = frozenset(
    {
        "namespace",
        "method",
        "runner",
        "pool",
        "key",
        "input",
        "region",
        "crash-policy",
        "token",
        "skip-ready-wait",
    }
)
_ONLY_WHEN_CREATING = frozenset({"input", "region", "crash-policy", "runner", "pool"})
_CRASH_POLICIES = frozenset({"restart", "sleep", "destroy"})
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class ByKey:
    """An actor named by namespace, name and key; ``create`` makes it when it isn't there."""

    namespace: str
    name: str
    key: tuple[str, ...]
    create: bool
    input: Value = None


@dataclass(frozen=True, slots=True)
class ById:
    """An actor named by its id."""

    actor_id: str


@dataclass(frozen=True, slots=True)
class Target:
    """One gateway request: which actor, and what the actor sees of the path and the query, byte for byte."""

    actor: ByKey | ById
    path: bytes
    query: bytes = b""
    token: str | None = field(default=None, repr=False)
    skip_ready_wait: bool = False


def parse(raw_path: bytes, query: bytes) -> Target | None:
    """The target of a request in query form or direct form; None when the path is no gateway path.

    Raises RivetError ``guard.query_*`` for a query form that breaks a rule.
    """
    if not raw_path.startswith(PREFIX) or b"//" in raw_path:
        return None
    first, slash, rest = raw_path[len(PREFIX) :].partition(b"/")
    path = slash + rest
    if b"rvt-" in query:
        routing, others = _split_query(query)
        if routing:
            return _query_form(first, path, routing, others)
    return _direct_form(first, path, query)


def by_headers(raw_path: bytes, query: bytes, headers: Mapping[str, str]) -> Target | None:
    """The target of a request in root form: any path, the actor in headers; None when they name none."""
    actor_id = headers.get("x-rivet-actor")
    if headers.get("x-rivet-target") != "actor" or not actor_id:
        return None
    return Target(ById(actor_id), raw_path, query, headers.get("x-rivet-token"))


def segments(path: bytes) -> tuple[str, ...]:
    """The decoded segments of an actor's own path: ``/action/a%2Fb`` is ("action", "a/b"), ``/`` is ()."""
    inner = path.removeprefix(b"/")
    return tuple(_text(part) for part in inner.split(b"/")) if inner else ()


def _direct_form(first: bytes, path: bytes, query: bytes) -> Target | None:
    actor_id, at, token = first.partition(b"@")
    if not actor_id:
        return None
    return Target(ById(_text(actor_id)), path, query, _text(token, secret=True) if at else None)


def without_token(raw_path: bytes) -> bytes:
    """The path as it may be shown and logged."""
    return _TOKEN.sub(rb"\1", raw_path)


def _split_query(query: bytes) -> tuple[list[tuple[str, bytes]], bytes]:
    """The routing pairs (raw values), and all the others as they were."""
    routing: list[tuple[str, bytes]] = []
    others: list[bytes] = []
    for pair in query.split(b"&"):
        if pair.startswith(b"rvt-"):
            name, _, value = pair.partition(b"=")
            routing.append((name[4:].decode("utf-8", "replace"), value))
        else:
            others.append(pair)
    return routing, b"&".join(others)


def _query_form(first: bytes, path: bytes, routing: list[tuple[str, bytes]], query: bytes) -> Target:
    if b"@" in first:
        _refuse("query_path_token_syntax", "A token goes in rvt-token here; `@token` belongs to an actor id.")
    name = _text(first)
    if not name:
        _refuse("query_empty_actor_name", "The actor's name in the path is empty.")
    params = _params(routing)
    return Target(
        _by_key(name, params),
        path,
        query,
        params.get("token"),
        _skip_ready_wait(params.get("skip-ready-wait")),
    )


def _params(routing: list[tuple[str, bytes]]) -> dict[str, str]:
    params: dict[str, str] = {}
    for name, value in routing:
        if name not in _KNOWN:
            _refuse(
                "query_invalid_params",
                f"The query parameter 'rvt-{name}' is not known; rvt- is reserved for routing.",
            )
        if name in params:
            _refuse("query_duplicate_param", f"The query parameter 'rvt-{name}' is given twice.")
        params[name] = _text(value.replace(b"+", b" "), secret=name == "token")
    return params


def _by_key(name: str, params: dict[str, str]) -> ByKey:
    for required in ("namespace", "method"):
        if not params.get(required):
            _refuse("query_invalid_params", f"The query parameter 'rvt-{required}' is missing.")
    key = params.get("key")
    parts = tuple(key.split(",")) if key else ()
    if params["method"] == "get":
        _check_get(params)
        return ByKey(params["namespace"], name, parts, create=False)
    if params["method"] != "getOrCreate":
        _refuse("query_invalid_params", f"rvt-method is get or getOrCreate, not {params['method']!r}.")
    _check_get_or_create(params)
    given = params.get("input")
    return ByKey(params["namespace"], name, parts, create=True, input=read_input(given) if given else None)


def _check_get(params: dict[str, str]) -> None:
    forbidden = sorted(_ONLY_WHEN_CREATING & params.keys())
    if forbidden:
        names = ", ".join(f"rvt-{name}" for name in forbidden)
        _refuse("query_get_disallowed_params", f"A get creates nothing, so it takes no {names}.")


def _check_get_or_create(params: dict[str, str]) -> None:
    if not (params.get("pool") or params.get("runner")):
        _refuse("query_missing_pool", "getOrCreate needs rvt-pool or rvt-runner.")
    if params.get("crash-policy", "sleep") not in _CRASH_POLICIES:
        _refuse("query_invalid_params", f"rvt-crash-policy is one of {', '.join(sorted(_CRASH_POLICIES))}.")


def _skip_ready_wait(value: str | None) -> bool:
    if value is None:
        return False
    if value not in _FLAGS:
        _refuse("query_invalid_params", f"rvt-skip-ready-wait is true, false, 1 or 0, not {value!r}.")
    return _FLAGS[value]


def _text(raw: bytes, *, secret: bool = False) -> str:
    """Percent-decoded text. Raises RivetError ``guard.query_invalid_percent_encoding``, which shows no ``secret``."""
    if b"%" not in raw and raw.isascii():
        return raw.decode()
    if _BAD_PERCENT.search(raw) is None:
        try:
            return unquote_to_bytes(raw).decode()
        except UnicodeDecodeError:
            pass
    shown = "The token" if secret else repr(raw[:80].decode("utf-8", "backslashreplace"))
    return _refuse("query_invalid_percent_encoding", f"{shown} is not percent-encoded UTF-8.")


def _refuse(code: str, message: str) -> NoReturn:
    raise RivetError("guard", code, message)
