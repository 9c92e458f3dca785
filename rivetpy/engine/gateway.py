"""Requests to actors: finding the actor, its routes, and what every answer of it carries (wire 5, 6)."""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect, Request

from rivetpy.codec import Value
from rivetpy.engine.actors import actor_of, options_of, specifier_of
from rivetpy.engine.door import bearer
from rivetpy.engine.http import (
    TEXT,
    Answer,
    cut_short,
    error_answer,
    header_text,
    json_answer,
    outgoing_too_long,
    read_body,
    while_connected,
    within,
)
from rivetpy.engine.inspector.access import check_token
from rivetpy.engine.inspector.routes import Inspector, refusal
from rivetpy.engine.raw import RawAnswer, check_hook, is_raw, raw_answer, read_raw_body, request_for_actor
from rivetpy.errors import RivetError
from rivetpy.host import Host
from rivetpy.store import ActorRow
from rivetpy.wire.bodies import IDEMPOTENCY_HEADER, Bodies, QueueReply, QueueSend, bodies_for
from rivetpy.wire.handshake import PARAMS_HEADER, header_params
from rivetpy.wire.routes import ByKey, Target, segments

#: The protocol release that the actors' own routes follow.
PROTOCOL = "2.3.19"
RELOAD = "Actors are not reloaded one by one here: an engine's code is loaded as a whole."


class Gateway:
    """Carries requests to actors. ``stopping`` ends the waits of senders when the engine goes down."""

    def __init__(self, host: Host, stopping: asyncio.Event) -> None:
        self._host = host
        self._stopping = stopping
        self._inspector = Inspector(host)

    async def answer(self, request: Request, target: Target, ray_id: str) -> Answer | RawAnswer:
        """The actor's answer, an error of its own included. Raises RivetError when there is no such actor."""
        row, body = await self._actor_and_body(request, target)
        actor = specifier_of(row)
        answer: Answer | RawAnswer
        try:
            answer = await self._route(request, target, row, body, ray_id)
        except ClientDisconnect:
            raise
        except Exception as error:
            answer = error_answer(error, ray_id, row, _what(target))
        answer.headers += [
            (b"x-rivet-actor", actor.actor_id.encode()),
            (b"x-rivet-actor-generation", str(actor.generation).encode()),
            (b"x-rivet-actor-key", header_text(actor.key or "")),
        ]
        return answer

    async def _actor_and_body(self, request: Request, target: Target) -> tuple[ActorRow, bytes]:
        """The body is read before an actor is made for it, so a request that is refused leaves nothing."""
        actor = target.actor
        if isinstance(actor, ByKey):
            self._host.namespaces.check(actor.namespace)
            body = await self._body(request, target, actor.name)
            return await actor_of(self._host, actor), body
        row = await actor_of(self._host, actor)
        return row, await self._body(request, target, row.name)

    async def _body(self, request: Request, target: Target, name: str) -> bytes:
        if is_raw(target.path):
            check_hook(self._host, name, "on_request")  # before 20 MiB are taken for nobody
            return await read_raw_body(request)
        return await read_body(request, options_of(self._host, name).max_incoming_message_size)

    async def _route(
        self, request: Request, target: Target, row: ActorRow, body: bytes, ray_id: str
    ) -> Answer | RawAnswer:
        if is_raw(target.path):
            return await self._raw(request, target, row, body)
        match segments(target.path):
            case ("action", name) if name:
                _only_post(request, target)
                return await self._action(request, row, name, body)
            case ("queue", name) if name:
                _only_post(request, target)
                return await self._queue(request, row, name, body)
            case ("inspector", *route):
                return await self._inspect(request, row, tuple(route), target.query, body, ray_id)
            case ("dynamic", "reload"):
                raise RivetError("actor", "reload_failed", RELOAD, status=404)
            case ("health",):
                return Answer(b"ok", content_type=TEXT)
            case ("metadata",):
                return json_answer({"runtime": "rivetkit", "type": "local", "version": PROTOCOL})
            case ():
                return Answer(b"This is a rivetpy actor.\n", content_type=TEXT)
        shown = target.path.decode("utf-8", "replace")
        raise RivetError(
            "actor",
            "not_found",
            f"Actor route '{shown}' was not found.",
            {"id": shown, "resource": "route"},
        )

    async def _inspect(
        self, request: Request, row: ActorRow, route: tuple[str, ...], query: bytes, body: bytes, ray_id: str
    ) -> Answer:
        try:
            await check_token(self._host, row.id, bearer(request))
        except RivetError as error:
            return refusal(error, ray_id)
        return await self._inspector.answer(request, row, route, query, body, ray_id)

    async def _raw(self, request: Request, target: Target, row: ActorRow, body: bytes) -> RawAnswer:
        seen = request_for_actor(request, target.path, target.query, body)
        return raw_answer(await self._host.serve(row.id, "on_request", seen, _params(request)), request)

    async def _action(self, request: Request, row: ActorRow, name: str, body: bytes) -> Answer:
        bodies = bodies_for(request.headers.get("x-rivet-encoding"))
        output = await self._host.call(row.id, name, bodies.read_args(body), _params(request))
        return self._written(row, bodies, bodies.write_output(output))

    async def _queue(self, request: Request, row: ActorRow, name: str, body: bytes) -> Answer:
        bodies = bodies_for(request.headers.get("x-rivet-encoding"))
        message = bodies.read_send(body, request.headers.get(IDEMPOTENCY_HEADER))
        if message.wait:
            reply = await self._wait(request, row, name, message)
        else:
            reply = await self._host.send(row.id, name, message, _params(request))
        return self._written(row, bodies, bodies.write_reply(reply, message.wait))

    async def _wait(self, request: Request, row: ActorRow, name: str, message: QueueSend) -> QueueReply:
        """A send that waits: until its timeout, the actor's action timeout, or its client's end."""
        longest = options_of(self._host, row.name).action_timeout
        cut = None if message.timeout is not None and message.timeout <= longest else longest
        work = within(cut, self._host.send(row.id, name, message, _params(request)))
        try:
            return await while_connected(request.receive, self._stopping, work)
        except RivetError as error:
            if (error.group, error.code) != ("actor", "restarting"):
                raise
            # "Did not run, send again" would be wrong: the message may be in the queue already.
            raise cut_short() from error

    def _written(self, row: ActorRow, bodies: Bodies, data: bytes) -> Answer:
        limit = options_of(self._host, row.name).max_outgoing_message_size
        if len(data) > limit:
            raise outgoing_too_long("The answer", len(data), limit)
        return Answer(data, content_type=bodies.content_type.encode())


def _params(request: Request) -> Value:
    return header_params(request.headers.get(PARAMS_HEADER))


def _only_post(request: Request, target: Target) -> None:
    if request.method != "POST":
        path = target.path.decode("utf-8", "replace")
        raise RivetError(
            "actor",
            "method_not_allowed",
            f"{path} takes POST, not {request.method}.",
            {"method": request.method, "path": path},
        )


def _what(target: Target) -> str:
    """What a request is for, as the log names it."""
    match segments(target.path):
        case ("action", name) if name:
            return f"action {name!r}"
        case ("queue", name) if name:
            return f"a message to queue {name!r}"
    return "a request"
