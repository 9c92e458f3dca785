"""The requests a client makes, as values: actions, sends, finding actors, looking into them. sans-I/O."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeGuard, TypeVar
from urllib.parse import quote, quote_plus, urlencode

from rivetpy.client.calls import Call, Dial, RawCall
from rivetpy.client.endpoint import Endpoint
from rivetpy.errors import RivetError, actor_not_found
from rivetpy.identity import Key, format_key
from rivetpy.wire.bodies import QueueReply, QueueSend, bodies_for
from rivetpy.wire.encodings import JSON, Encoding
from rivetpy.wire.handshake import PARAMS_HEADER, write_offer, write_params
from rivetpy.wire.inputs import write_input
from rivetpy.wire.jsonvalue import JsonError, JsonObject, Value, encode, parse

if TYPE_CHECKING:
    from httpx import Request

T = TypeVar("T")

USER_AGENT = "rivetpy"


@dataclass(frozen=True, slots=True)
class ByKey:
    """An actor named by name and key; with ``create``, the first request to it makes it, from ``input``."""

    name: str
    key: Key
    create: bool = True
    input: Value = None
    #: What the actor's hooks are told of whoever calls.
    params: Value = None

    @property
    def shown(self) -> str:
        """What a message calls it."""
        return f"{self.name}/{format_key(self.key)}"

    @property
    def fits_url(self) -> bool:
        """Whether the URL's form of a key, parts joined with commas, reads back as this key (wire 3.2)."""
        return self.key == (tuple(",".join(self.key).split(",")) if any(self.key) else ())


@dataclass(frozen=True, slots=True)
class ById:
    """An actor named by its id."""

    actor_id: str
    params: Value = None

    @property
    def shown(self) -> str:
        """What a message calls it."""
        return self.actor_id


Target = ByKey | ById
#: Headers that are the transport's to set.
_OF_THE_CONNECTION = frozenset({"connection", "content-length", "host", "transfer-encoding"})


class Requests:
    """Makes the calls for one endpoint, in one encoding."""

    def __init__(
        self,
        endpoint: Endpoint,
        headers: Mapping[str, str] | None = None,
        encoding: Encoding = JSON,
        skip_ready_wait: bool = False,
    ) -> None:
        self.endpoint = endpoint
        self.encoding = encoding
        self._skip_ready_wait = skip_ready_wait
        self._bodies = bodies_for(encoding.name)
        self._extra = dict(headers or {})
        self._plain_headers = {**self._extra, "user-agent": USER_AGENT}
        self._api_headers = {**self._plain_headers, "content-type": "application/json"}
        if endpoint.token:
            self._plain_headers["x-rivet-token"] = endpoint.token
            self._api_headers["authorization"] = f"Bearer {endpoint.token}"
        self._gateway_headers = {
            **self._plain_headers,
            "content-type": self._bodies.content_type,
            "x-rivet-encoding": self._bodies.name,
        }

    def at(self, endpoint: Endpoint) -> Requests:
        """The same for another endpoint."""
        return Requests(endpoint, self._extra, self.encoding, self._skip_ready_wait)

    # -- the gateway

    def action(self, target: Target, name: str, args: Sequence[Value]) -> Call[Value]:
        """Call an action; the result is what it returned."""
        return Call(
            "POST",
            self.gateway_path(target, f"/action/{_segment(name)}"),
            self._bodies.read_output,
            self._bodies.write_args(list(args)),
            self._routed(self._gateway_headers, target),
            encoding=self.encoding,
        )

    def send(self, target: Target, queue: str, send: QueueSend) -> Call[QueueReply]:
        """Put a message into a queue."""
        return Call(
            "POST",
            self.gateway_path(target, f"/queue/{_segment(queue)}"),
            self._bodies.read_reply,
            self._bodies.write_send(queue, send),
            self._routed(self._gateway_headers, target) | self._bodies.send_headers(send),
            idempotent=send.idempotency_key is not None and not send.wait,  # those have their `Insistence`
            encoding=self.encoding,
        )

    def raw(
        self, target: Target, path: str, request: Request, parts: AsyncIterable[bytes] | None = None
    ) -> RawCall:
        """A request that the actor's ``on_request`` answers; ``path`` may have a query, ``parts`` are its body."""
        path, query = _rooted(path)
        own = {name: value for name, value in request.headers.items() if name not in _OF_THE_CONNECTION}
        return RawCall(
            request.method,
            self._raw_path(target, f"/request{path}", query),
            bytes,
            request.content or None,
            self._routed(self._plain_headers, target) | own,
            parts=parts,
        )

    def connect(self, target: Target) -> Dial:
        """The WebSocket of a connection."""
        return self._dial(target, "/connect", "")

    def websocket(self, target: Target, path: str) -> Dial:
        """A WebSocket that the actor's ``on_websocket`` serves; ``path`` may have a query."""
        path, query = _rooted(path)
        return self._dial(target, f"/websocket{path}", query)

    def _dial(self, target: Target, path: str, query: str) -> Dial:
        """The token is in the URL: a header of its own would be one more place to find it."""
        named = (target.actor_id, self.endpoint.token) if self._in_root_form(target) else (None, None)
        return Dial(
            self._raw_path(target, path, query),
            write_offer(self.encoding, target.params, *named),
            {**self._extra, "user-agent": USER_AGENT},
        )

    def _in_root_form(self, target: Target) -> TypeGuard[ById]:
        """Whether headers or subprotocols name the actor (wire 5.3): a URL with an id has no word for not waiting."""
        return self._skip_ready_wait and isinstance(target, ById)

    def _raw_path(self, target: Target, path: str, query: str) -> str:
        """The request target of what an actor's hooks serve, and of connections."""
        if not self._in_root_form(target):
            return self.gateway_path(target, path, query)
        return f"{self.endpoint.base}{path}" + (f"?{query}" if query else "")

    def _routed(self, headers: Mapping[str, str], target: Target) -> dict[str, str]:
        """Headers that also say who calls, and in the root form whom."""
        routed = dict(headers)
        if target.params is not None:
            routed[PARAMS_HEADER] = write_params(target.params)
        if self._in_root_form(target):
            routed |= {
                "x-rivet-target": "actor",
                "x-rivet-actor": target.actor_id,
                "x-rivet-skip-ready-wait": "1",
            }
        return routed

    def gateway_path(self, target: Target, path: str, query: str = "") -> str:
        """The request target of a gateway request, in query form or direct form."""
        if isinstance(target, ById):
            token = f"@{_segment(self.endpoint.token)}" if self.endpoint.token else ""
            where = f"{self.endpoint.base}/gateway/{_segment(target.actor_id)}{token}{path}"
            return f"{where}?{query}" if query else where
        pairs = [query] if query else []
        pairs += [f"rvt-{name}={quote_plus(value)}" for name, value in self._routing(target)]
        return f"{self.endpoint.base}/gateway/{_segment(target.name)}{path}?{'&'.join(pairs)}"

    def _routing(self, target: ByKey) -> list[tuple[str, str]]:
        if not target.fits_url:
            raise RivetError(
                "client", "key_not_in_url", f"The key {target.key!r} has no form in a URL; resolve it first."
            )
        pairs = [
            ("namespace", self.endpoint.namespace),
            ("method", "getOrCreate" if target.create else "get"),
        ]
        if target.create:
            pairs.append(("runner", self.endpoint.pool))
        if target.key:
            pairs.append(("key", ",".join(target.key)))
        if target.create and target.input is not None:
            pairs.append(("input", write_input(target.input, url=True)))
        if target.create:
            pairs.append(("crash-policy", "sleep"))
        if self.endpoint.token:
            pairs.append(("token", self.endpoint.token))
        if self._skip_ready_wait:
            pairs.append(("skip-ready-wait", "true"))
        return pairs

    # -- the management interface

    def resolve(self, target: ByKey) -> Call[str]:
        """The id of the actor; with ``create`` it is made when it isn't there."""
        if target.create:
            return self._api("PUT", "/actors", _actor_id, self._actor_body(target), idempotent=True)
        query = {"name": target.name, "key": format_key(target.key)}

        def first(data: bytes) -> str:
            actors = _json_object(data).get("actors")
            if not actors:
                raise actor_not_found(target.shown)
            return str(actors[0]["actor_id"])

        return self._api("GET", "/actors", first, query=query, idempotent=True)

    def create(self, target: ByKey) -> Call[str]:
        """Make an actor that must not exist yet (else ``actor.duplicate_key``); its id."""
        return self._api("POST", "/actors", _actor_id, self._actor_body(target))

    def actors(self, **query: str) -> Call[JsonObject]:
        """A page of actors; the query is that of ``GET /actors``, e.g. ``limit=``, ``summary="true"``."""
        return self._api("GET", "/actors", _json_object, query=query, idempotent=True)

    def destroy(self, actor_id: str) -> Call[JsonObject]:
        """Destroy an actor and everything it stored."""
        return self._api("DELETE", f"/actors/{_segment(actor_id)}", _json_object)

    def sleep(self, actor_id: str) -> Call[JsonObject]:
        """Put an actor away; it wakes when something happens."""
        return self._api("POST", f"/actors/{_segment(actor_id)}/sleep", _json_object, {}, idempotent=True)

    def wake(self, actor_id: str) -> Call[JsonObject]:
        """Bring an actor into memory."""
        return self._api("POST", f"/actors/{_segment(actor_id)}/wake", _json_object, {}, idempotent=True)

    def inspect(
        self,
        actor_id: str,
        route: str,
        *,
        method: str = "GET",
        body: JsonObject | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Call[JsonObject]:
        """A view of the inspector (``state``, ``queue``, ``summary`` …) or a change; both as JSON, tags left alone.

        This way in needs no token of the actor's own: it is the management interface's.
        """
        path = f"/actors/{_segment(actor_id)}/inspector/{route}"
        return self._api(method, path, _json_object, body, query, idempotent=method == "GET")

    def export(self, actor_id: str) -> Call[bytes]:
        """An actor's whole durable life as a file."""
        return self._api("GET", f"/actors/{_segment(actor_id)}/export", bytes, idempotent=True)

    def restore(self, data: bytes, key: str | None) -> Call[JsonObject]:
        """Make the actor of a file, under another key if given."""
        call = self._api("POST", "/actors/import", _json_object, query={} if key is None else {"key": key})
        return replace(call, body=data, headers={**call.headers, "content-type": "application/octet-stream"})

    def fork(self, actor_id: str, key: str, location: str | None) -> Call[JsonObject]:
        """Copy an actor to another key, as it was before an entry if given."""
        body = {"key": key, "location": location}
        return self._api("POST", f"/actors/{_segment(actor_id)}/fork", _json_object, body)

    def metadata(self) -> Call[JsonObject]:
        """What the engine is and which actors it knows."""
        return self._api("GET", "/metadata", _json_object, idempotent=True)

    def _actor_body(self, target: ByKey) -> JsonObject:
        body: JsonObject = {
            "name": target.name,
            "key": format_key(target.key),
            "runner_name_selector": self.endpoint.pool,
            "crash_policy": "sleep",
        }
        if target.input is not None:
            body["input"] = write_input(target.input, url=False)
        return body

    def _api(
        self,
        method: str,
        path: str,
        read: Callable[[bytes], T],
        body: JsonObject | None = None,
        query: Mapping[str, str] | None = None,
        idempotent: bool = False,
    ) -> Call[T]:
        pairs = {**(query or {}), "namespace": self.endpoint.namespace}
        return Call(
            method,
            f"{self.endpoint.base}{path}?{urlencode(pairs)}",
            read,
            None if body is None else encode(body),
            self._api_headers,
            idempotent,
        )


def _segment(text: str) -> str:
    """One path segment, coded as JavaScript's encodeURIComponent does."""
    return quote(text, safe="!'()*")


def _rooted(path: str) -> tuple[str, str]:
    """Path and query of an actor's own, from the root; what no URL may hold is coded."""
    coded = quote(path if path.startswith("/") else f"/{path}", safe="/%:@!$&'()*+,;=~?")
    path, _, query = coded.partition("?")
    return path, query


def _json_object(data: bytes) -> JsonObject:
    tree = parse(data)
    if not isinstance(tree, dict):
        raise JsonError("the answer is JSON, but no object.")
    return tree


def _actor_id(data: bytes) -> str:
    actor = _json_object(data).get("actor")
    if not isinstance(actor, dict) or "actor_id" not in actor:
        raise JsonError("the answer names no actor.")
    return str(actor["actor_id"])
