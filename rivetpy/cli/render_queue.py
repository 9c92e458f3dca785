"""The waiting messages as a table."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.text import Text

from rivetpy.cli import times
from rivetpy.cli.terminal import clip, columns
from rivetpy.cli.text import json_text
from rivetpy.wire.jsonvalue import JsonObject

_AGE = 6


def queue_table(waiting: JsonObject, width: int, now: int) -> Iterator[Text]:
    """A line per message, oldest first, and how many there are."""
    messages = waiting["messages"]
    name = min(max([5, *(cell_len(message["name"]) for message in messages)]), width // 3)
    number = max([2, *(len(str(message["id"])) for message in messages)])
    sizes = (number, name, _AGE, width - number - name - _AGE - 3)
    if messages:
        yield columns([(t, s, "dim") for t, s in zip(("ID", "QUEUE", "AGE", "BODY"), sizes, strict=True)])
    for message in messages:
        body = json_text(message["body"]) if "body" in message else ""
        age = times.span(now - message["createdAtMs"])
        cells = (str(message["id"]), message["name"], age, body)
        yield columns([(text, size, "") for text, size in zip(cells, sizes, strict=True)])
    more = waiting["size"] - len(messages)
    yield Text(clip(f"{waiting['size']} waiting" + (f", {more} not shown" if more else ""), width), "dim")
