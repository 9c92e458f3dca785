"""The inspector's routes below an actor: what it holds, shown and changed as JSON (wire 9.2)."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.requests import Request

from rivetpy.engine.http import Answer, json_answer
from rivetpy.engine.inspector import history_json, queue_json, state_json
from rivetpy.engine.workflow_routes import WorkflowRoutes
from rivetpy.errors import RivetError
from rivetpy.host import Host
from rivetpy.host.view import ActorView
from rivetpy.store import ActorRow
from rivetpy.wire.jsonvalue import JsonError, JsonObject, Value, dumps, loads, to_json

PAGE = 100


class Inspector:
    """Answers for one host. Looking wakes no actor."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._workflow = WorkflowRoutes(host)

    async def answer(
        self, request: Request, row: ActorRow, route: tuple[str, ...], query: bytes, body: bytes
    ) -> Answer:
        """The answer to one route. Raises RivetError ``actor.not_found`` when there is none."""
        match request.method, route:
            case "GET", ("state",):
                return json_answer(state_json(await self._host.view(row.id)))
            case "PATCH", ("state",):
                return await self._set_state(row, body)
            case "GET", ("rpcs",):
                return json_answer({"rpcs": self._rpcs(row)})
            case "POST", ("action", name):
                return await self._action(row, name, body)
            case "GET", ("queue",):
                return await self._queue(row, _number(query, "limit", PAGE))
            case "POST", ("queue",):
                return await self._send(row, body)
            case "DELETE", ("queue",):
                return await self._drop(row, _numbers(query, "id"))
            case "GET", ("workflow-history",):
                return json_answer(history_json(await self._host.view(row.id)))
            case "POST", ("workflow", verb):
                return await self._workflow.answer(row.id, verb, _object(body) if body else {})
            case "GET", ("summary",):
                return await self._summary(row)
        raise RivetError("actor", "not_found", "Inspector route was not found")

    async def _set_state(self, row: ActorRow, body: bytes) -> Answer:
        given = _object(body)
        if "state" not in given:
            raise JsonError('The body is {"state": …}.')
        seen = given.get("revision")
        if seen is not None and not isinstance(seen, str):
            raise JsonError("'revision' is the one that came with the state.")
        await self._host.set_state(row.id, given["state"], seen)
        return json_answer({"ok": True})

    def _rpcs(self, row: ActorRow) -> list[str]:
        definition = self._host.registry.actors.get(row.name)
        return sorted(definition.actions) if definition else []

    async def _action(self, row: ActorRow, name: str, body: bytes) -> Answer:
        given = _object(body) if body else {}
        if "args" in given and "properties" in given:
            raise JsonError("Give args or properties, not both.")
        args = [given["properties"]] if given.get("properties") else given.get("args") or []
        if not isinstance(args, list):
            raise JsonError("'args' is a list.")
        return Answer(dumps({"output": await self._host.call(row.id, name, args)}))

    async def _queue(self, row: ActorRow, limit: int) -> Answer:
        view = await self._host.view(row.id)
        definition = self._host.registry.actors.get(row.name)
        return json_answer(queue_json(view, limit, definition.options.max_queue_size if definition else None))

    async def _send(self, row: ActorRow, body: bytes) -> Answer:
        given = _object(body)
        name = given.get("name")
        if not isinstance(name, str) or not name:
            raise JsonError("'name' is the queue's name.")
        await self._host.send(row.id, name, given.get("body"))
        view = await self._host.view(row.id)
        return json_answer(_newest(view, name))

    async def _drop(self, row: ActorRow, ids: list[int] | None) -> Answer:
        await self._host.drop_messages(row.id, ids)
        return json_answer({})

    async def _summary(self, row: ActorRow) -> Answer:
        view = await self._host.view(row.id)
        history = history_json(view)
        return json_answer(
            {
                "state": to_json(view.state),
                "connections": [],
                "rpcs": self._rpcs(row),
                "queueSize": len(view.queue),
                "isStateEnabled": True,
                "isDatabaseEnabled": False,
                "isWorkflowEnabled": history["isWorkflowEnabled"],
                "workflowState": history["workflowState"],
                "workflowHistory": history["history"],
            }
        )


def _newest(view: ActorView, queue: str) -> JsonObject:
    """The message just sent; its id is null when the actor took it in the meantime."""
    message = max((m for m in view.queue if m.queue == queue), key=lambda m: m.id, default=None)
    return {
        "id": str(message.id) if message else None,
        "name": queue,
        "createdAtMs": message.created_at if message else None,
    }


def _object(body: bytes) -> dict[str, Value]:
    given = loads(body)
    if not isinstance(given, dict):
        raise JsonError(f"The body is a JSON object, not {type(given).__name__}.")
    return given


def _numbers(query: bytes, name: str) -> list[int] | None:
    """All values of a query parameter; None when it isn't there."""
    given = parse_qs(query.decode("latin-1"), keep_blank_values=True).get(name)
    if given is None:
        return None
    if not all(text.isdecimal() and len(text) < 16 for text in given):
        raise JsonError(f"'{name}' is a number.")
    return [int(text) for text in given]


def _number(query: bytes, name: str, default: int) -> int:
    return (_numbers(query, name) or [default])[0]
