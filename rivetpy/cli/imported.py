"""What a child reports of the actors it imported: their actions, and their queues with a body to try each with."""

from __future__ import annotations

from rivetpy.channels import QueueDefinition
from rivetpy.cli.launch import Report
from rivetpy.cli.text import json_text
from rivetpy.codec import Value
from rivetpy.registry import Registry
from rivetpy.wire.jsonvalue import Json, JsonObject

#: A value of each type a JSON schema names.
_OF_TYPE: dict[str, Json] = {
    "string": "text",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "null": None,
}
#: So deep a model is looked into; a model may hold itself.
_DEEPEST = 8


def actors_report(registry: Registry, files: list[str]) -> Report:
    """``imported``: queues, each with a body to try it with or null, and actions by actor."""
    described = {
        name: {
            "queues": {queue: sample_body(definition) for queue, definition in actor.queues.items()},
            "actions": list(actor.actions),
        }
        for name, actor in registry.actors.items()
    }
    return {"imported": described, "files": files}


def sample_body(queue: QueueDefinition) -> str | None:
    """JSON that fits the queue's model; None where it has none, or one for which no fitting value is easily found."""
    model: Value = queue.model
    if model is None:
        return None
    from pydantic import TypeAdapter

    try:
        schema: JsonObject = TypeAdapter(model).json_schema()
        body = _fitting(schema, schema.get("$defs", {}), _DEEPEST)
        queue.checked("", body)
    except Exception:  # whatever a model of the user's makes of it: there is no sample then
        return None
    return json_text(body)


def _fitting(schema: JsonObject, named: JsonObject, deep: int) -> Json:
    """A value this schema probably allows."""
    if not deep:
        return None
    if "$ref" in schema:
        return _fitting(named[schema["$ref"].rpartition("/")[2]], named, deep - 1)
    given: list[Json] = [*schema.get("examples", ()), *schema.get("enum", ())]
    given += [schema[kept] for kept in ("const", "default") if kept in schema]
    if given:
        return given[0]
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return _fitting(schema[several][0], named, deep - 1)
    if schema.get("type") == "object":
        fields = schema.get("properties", {})
        return {name: _fitting(fields[name], named, deep - 1) for name in schema.get("required", ())}
    return _OF_TYPE[schema["type"]]
