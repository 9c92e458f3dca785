"""The inspector's routes below an actor: what it holds, shown and changed as JSON (wire 9.2)."""

from __future__ import annotations

from starlette.requests import Request

from rivetpy.engine.http import Answer, for_client, header_text, json_answer
from rivetpy.engine.inspector.database import ActorDatabase
from rivetpy.engine.inspector.history import history_answer, with_history
from rivetpy.engine.inspector.requests import json_object, number, numbers, texts
from rivetpy.engine.inspector.shapes import connections_json, queue_json, state_json
from rivetpy.engine.inspector.workflow import WorkflowRoutes
from rivetpy.errors import RivetError
from rivetpy.host import Host
from rivetpy.host.view import ActorView
from rivetpy.store import ActorRow
from rivetpy.wire.bodies import QueueSend
from rivetpy.wire.errors import error_body
from rivetpy.wire.jsonvalue import JsonError, JsonObject, dumps, to_json

PAGE = 100


class Inspector:
    """Answers for one host. Looking wakes no actor, but for its database."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._workflow = WorkflowRoutes(host)

    async def answer(
        self, request: Request, row: ActorRow, route: tuple[str, ...], query: bytes, body: bytes, ray_id: str
    ) -> Answer:
        """The answer to one route, an error included."""
        try:
            return await self._route(request.method, row, route, query, body)
        except Exception as error:
            return refusal(error, ray_id)

    async def _route(
        self, method: str, row: ActorRow, route: tuple[str, ...], query: bytes, body: bytes
    ) -> Answer:
        match method, route:
            case "GET", ("state",):
                return json_answer(state_json(await self._host.view(row.id)))
            case "PATCH", ("state",):
                return await self._set_state(row, body)
            case "GET", ("connections",):
                return json_answer(connections_json(await self._host.view(row.id)))
            case "GET", ("rpcs",):
                return json_answer({"rpcs": rpcs_of(self._host, row)})
            case "GET", ("queue",):
                return await self._queue(row, number(query, "limit"))
            case "POST", ("queue",):
                return await self._send(row, body)
            case "DELETE", ("queue",):
                await self._host.drop_messages(row.id, numbers(query, "id") or None)
                return json_answer({})
            case "GET", ("traces",):
                return json_answer({"otlp": [], "clamped": False})
            case "GET", ("summary",):
                return await self._summary(row)
            case "GET", ("workflow-history",):
                limit = number(query, "limit")
                view = await self._host.view(row.id, limit)
                return await history_answer(view, limit, number(query, "since"))
            case _, (part, verb):
                return await self._below(method, row, part, verb, query, body)
        raise _no_route()

    async def _below(
        self, method: str, row: ActorRow, part: str, verb: str, query: bytes, body: bytes
    ) -> Answer:
        match method, part:
            case "POST", "action":
                return await self._action(row, verb, body)
            case "POST", "workflow":
                return await self._workflow.answer(row.id, verb, json_object(body) if body else {})
            case _, "database":
                return await self._database(ActorDatabase(self._host, row.id), method, verb, query, body)
        raise _no_route()

    async def _database(
        self, database: ActorDatabase, method: str, verb: str, query: bytes, body: bytes
    ) -> Answer:
        match method, verb:
            case "GET", "schema":
                return json_answer({"schema": to_json(await database.schema())})
            case "GET", "rows":
                table = next(iter(texts(query, "table")), "")
                limit = number(query, "limit")
                rows = await database.rows(
                    table, PAGE if limit is None else limit, number(query, "offset") or 0
                )
            case "POST", "execute":
                rows = await database.execute(json_object(body))
            case _:
                raise _no_route()
        return json_answer({"rows": to_json(rows)})

    async def _set_state(self, row: ActorRow, body: bytes) -> Answer:
        given = json_object(body)
        if "state" not in given:
            raise JsonError('The body is {"state": …}.')
        seen = given.get("revision")
        if seen is not None and not isinstance(seen, str):
            raise JsonError("'revision' is the one that came with the state.")
        await self._host.set_state(row.id, given["state"], seen)
        return json_answer({"ok": True})

    async def _action(self, row: ActorRow, name: str, body: bytes) -> Answer:
        given = json_object(body) if body else {}
        if "args" in given and "properties" in given:
            raise JsonError("Give args or properties, not both.")
        args = [given["properties"]] if given.get("properties") else given.get("args") or []
        if not isinstance(args, list):
            raise JsonError("'args' is a list.")
        return Answer(dumps({"output": await self._host.call(row.id, name, args)}))

    async def _queue(self, row: ActorRow, limit: int | None) -> Answer:
        view = await self._host.view(row.id)
        return json_answer(
            queue_json(view, PAGE if limit is None else limit, max_queue_size(self._host, row))
        )

    async def _send(self, row: ActorRow, body: bytes) -> Answer:
        given = json_object(body)
        name = given.get("name")
        if not isinstance(name, str) or not name:
            raise JsonError("'name' is the queue's name.")
        await self._host.send(row.id, name, QueueSend(given.get("body")))
        view = await self._host.view(row.id)
        return json_answer(_newest(view, name))

    async def _summary(self, row: ActorRow) -> Answer:
        view = await self._host.view(row.id)
        summary: JsonObject = {
            "state": to_json(view.state),
            "isStateEnabled": view.has_state,
            **connections_json(view),
            "rpcs": rpcs_of(self._host, row),
            "queueSize": len(view.queue),
            "isDatabaseEnabled": has_database(self._host, row),
            "isWorkflowEnabled": view.workflow is not None,
            "workflowState": view.workflow.status if view.workflow else None,
        }
        return await with_history("workflowHistory", summary, view)


def rpcs_of(host: Host, row: ActorRow) -> list[str]:
    """The names of an actor's actions."""
    definition = host.registry.actors.get(row.name)
    return sorted(definition.actions) if definition else []


def has_database(host: Host, row: ActorRow) -> bool:
    """Whether the actor has a database of its own."""
    definition = host.registry.actors.get(row.name)
    return definition is not None and definition.db


def max_queue_size(host: Host, row: ActorRow) -> int | None:
    """How many messages may wait in the actor's queues; None for a name nobody defined."""
    definition = host.registry.actors.get(row.name)
    return definition.options.max_queue_size if definition else None


def refusal(error: Exception, ray_id: str) -> Answer:
    """An error as the inspector answers it: no actor in it, and metadata always there."""
    shown = for_client(error, ray_id)
    if (shown.group, shown.code) == ("actor", "action_not_found"):
        shown.group = "action"
    body = {"metadata": None, **error_body(shown)}
    if shown.code == "invalid_request":
        body["error"] = body["message"]  # where some look for it
    answer = json_answer(body, shown.status)
    answer.headers.append((b"x-rivet-error", header_text(f"{shown.group}.{shown.code}")))
    return answer


def _no_route() -> RivetError:
    return RivetError("actor", "not_found", "Inspector route was not found")


def _newest(view: ActorView, queue: str) -> JsonObject:
    """The message just sent; its id is null when the actor took it in the meantime."""
    message = max((m for m in view.queue if m.queue == queue), key=lambda m: m.id, default=None)
    return {
        "id": str(message.id) if message else None,
        "name": queue,
        "createdAtMs": message.created_at if message else None,
    }
