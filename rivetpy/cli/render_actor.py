"""Actors for the terminal: the header over a history, and the table of `rivet actors`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from rich.text import Text

from rivetpy.cli import times
from rivetpy.cli.render_history import STYLES, compact, failure_lines
from rivetpy.cli.terminal import clip, columns
from rivetpy.cli.text import visible
from rivetpy.wire.jsonvalue import JsonObject

_WAITS = {"message": "waits for a message", "sleep": "sleeps", "retry": "waits to try again"}


def header(actor: JsonObject, history: JsonObject, width: int, now: int) -> Iterator[Text]:
    """Who it is, and how its workflow stands."""
    yield Text(clip(f"{actor['name']} {actor['key']}", width), "bold")
    yield Text(clip(f"id {actor['actor_id']}, created {times.full(actor['create_ts'])}", width), "dim")
    yield from standing(history, width, now)


def standing(history: JsonObject, width: int, now: int) -> Iterator[Text]:
    """How the workflow stands: status, what it waits for, how it ended."""
    workflow = history.get("workflow")
    if not history["isWorkflowEnabled"] or workflow is None:
        yield Text("no workflow")
        return
    status = workflow["status"]
    waits = [wait_text(wait, now) for wait in workflow["waits"]]
    line = Text.assemble("workflow ", (status, STYLES.get(status, "")))
    line.append(clip(f": {waits[0]}", width - line.cell_len) if waits else "")
    yield line
    for wait in waits[1:]:
        yield Text(clip(f"  {wait}", width))
    yield from _ending(workflow, width)


def _ending(workflow: JsonObject, width: int) -> Iterator[Text]:
    failure = workflow.get("error")
    if failure is not None:
        for text in failure_lines(failure):
            yield Text(clip(f"  {text}", width), "red")
    elif workflow["status"] == "completed":
        yield Text(clip(f"  output {compact(workflow.get('output'))}", width))


def wait_text(wait: JsonObject, now: int) -> str:
    """One thing a workflow waits for, in words."""
    text: str = _WAITS.get(wait["reason"]) or wait["reason"]
    if wait["reason"] == "message":
        text += f" of {' or '.join(wait['queues'])}" if wait.get("queues") else " of any queue"
    if wait.get("deadline") is not None:
        text += f" until {times.until(wait['deadline'], now)}"
    return f"{text}, at {wait['location']}"


_COLUMNS = ("NAME", "KEY", "STATUS", "WORKFLOW", "QUEUE", "ENTRIES", "AGE", "NEXT WAKE", "WAITING FOR")
#: The narrowest and the widest each column may be; the last one takes what is left.
_NARROW = (8, 4, 8, 8, 5, 7, 6, 9, 11)
_MEASURED = 100
_WIDE = (24, 24, 8, 11, 5, 7, 6, 9, 1000)


def table(actors: Iterable[JsonObject], width: int, now: int) -> Iterator[Text]:
    """A line per actor under a line of titles; the first ones decide how wide the columns are."""
    lines = (_cells(actor, now) for actor in actors)
    measured = list(islice(lines, _MEASURED))
    sizes = _sizes(measured, width)
    yield columns([(title, size, "dim") for title, size in zip(_COLUMNS, sizes, strict=True)])
    for cells in chain(measured, lines):
        styles = ("", "", "", STYLES.get(cells[3], ""), "", "", "", "", "")
        yield columns([(t, size, style) for t, size, style in zip(cells, sizes, styles, strict=True)])


def _cells(actor: JsonObject, now: int) -> tuple[str, ...]:
    about = actor["summary"]
    wake = about.get("nextWakeAt")
    return (
        visible(actor["name"]),
        visible(actor["key"] or "/"),
        about["status"],
        about.get("workflowStatus") or "",
        str(about["queueSize"]),
        str(about["historySize"]),
        times.span(now - actor["create_ts"]),
        "" if wake is None else (f"in {times.span(wake - now)}" if wake > now else "due"),
        visible(", ".join(about["waitingFor"])),
    )


def _sizes(lines: list[tuple[str, ...]], width: int) -> list[int]:
    """As wide as the content, within each column's bounds; what doesn't fit is taken from the widest."""
    from rich.cells import cell_len

    needed = [
        max(len(title), *(cell_len(line[i]) for line in lines)) if lines else len(title)
        for i, title in enumerate(_COLUMNS)
    ]
    sizes = [min(max(need, low), high) for need, low, high in zip(needed, _NARROW, _WIDE, strict=True)]
    room = width - (len(sizes) - 1)
    sizes[-1] = max(_NARROW[-1], min(sizes[-1], room - sum(sizes[:-1])))
    while sum(sizes) > room:
        spare = [size - low for size, low in zip(sizes, _NARROW, strict=True)]
        widest = max(range(len(sizes)), key=spare.__getitem__)
        if spare[widest] <= 0:
            break
        sizes[widest] -= 1
    return sizes
