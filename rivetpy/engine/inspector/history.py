"""A workflow's history as an answer, made a slice at a time: however long it is, other requests go on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from rivetpy.engine.http import Answer
from rivetpy.engine.inspector.journal import History, choose, lines_of, size_of
from rivetpy.engine.inspector.shapes import standing_json
from rivetpy.host.view import ActorView
from rivetpy.wire.jsonvalue import JsonObject, encode
from rivetpy.workflow.entries import Entry

#: So many entries are made without a pause; some milliseconds.
SLICE = 100


async def history_answer(view: ActorView, limit: int | None = None, since: int | None = None) -> Answer:
    """The history and how the workflow stands. ``limit``: only the newest entries. ``since`` (epoch ms): only what may
    have changed since then. ``size`` is how many entries there are in all."""
    size = size_of(view.workflow) if view.workflow else 0
    return await with_history("history", {**standing_json(view), "size": size}, view, limit, since)


async def with_history(
    name: str, tree: JsonObject, view: ActorView, limit: int | None = None, since: int | None = None
) -> Answer:
    """An answer with the history under a name of its own."""
    if view.workflow is None:
        return Answer(encode({**tree, name: None}))
    chosen = choose(lines_of(view.workflow), limit, since)
    parts = [encode(tree)[:-1], b',"', name.encode(), b'":', await _written(view.row.id, chosen), b"}"]
    return Answer(b"".join(parts))


async def _written(actor_id: str, chosen: Sequence[Entry]) -> bytes:
    history = History(actor_id)
    entries: list[bytes] = []
    metadata: list[bytes] = []
    for start in range(0, len(chosen), SLICE):
        if start:
            await asyncio.sleep(0)
        for entry in chosen[start : start + SLICE]:
            history.add(entry)
        entries.append(encode(history.entries)[1:-1])
        metadata.append(encode(history.metadata)[1:-1])
        history.entries.clear()
        history.metadata.clear()
    return b'{"nameRegistry":%b,"entries":[%b],"entryMetadata":{%b}}' % (
        encode(history.names),
        b",".join(entries),
        b",".join(metadata),
    )
