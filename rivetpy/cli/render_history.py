"""The journal as a tree: a header, then a line per entry, with what failed under it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from rivetpy.cli import times
from rivetpy.cli.journal import Line, Node
from rivetpy.cli.terminal import clip, columns, unicode_out
from rivetpy.cli.text import json_text
from rivetpy.wire.jsonvalue import JsonObject

#: Finished iterations shown in full before the one that runs; older ones fold into a line with counts.
SHOWN_ITERATIONS = 1
STYLES = {
    "completed": "green",
    "running": "cyan",
    "pending": "yellow",
    "sleeping": "cyan",
    "failed": "red",
    "exhausted": "red",
    "diverged": "red",
    "interrupted": "magenta",
    "cancelled": "magenta",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the tree before it is laid out; ``note`` stands for folded iterations or an error's text."""

    guide: str
    label: str
    line: Line | None = None
    note: str = ""
    style: str = ""


@dataclass(frozen=True, slots=True)
class Guides:
    """What a tree is drawn with."""

    tee: str
    last: str
    bar: str
    more: str


def guides() -> Guides:
    return Guides("├─ ", "└─ ", "│  ", "…") if unicode_out() else Guides("|- ", "`- ", "|  ", "...")


@dataclass(frozen=True, slots=True)
class Wanted:
    """How much is shown."""

    #: Older iterations of a loop as one line.
    fold: bool = True
    #: All entries are there, so iterations that are missing were pruned.
    whole: bool = True


def rows(root: Node, wanted: Wanted) -> Iterator[Row]:
    """The tree's lines, top down."""
    for node in root.children.values():
        yield from _rows(node, "", "", guides(), wanted)


def _rows(node: Node, guide: str, indent: str, draw: Guides, wanted: Wanted) -> Iterator[Row]:
    yield Row(guide, node.part, node.line)
    children = list(node.children.values())
    yield from _errors(node.line, indent + (draw.bar if children else "   "))
    hidden = _folded(children) if wanted.fold else []
    gone = _pruned(node.line, children) if wanted.whole else ""
    if gone:
        yield Row(indent + draw.tee, draw.more, note=gone, style="dim")
    if hidden:
        yield Row(indent + draw.tee, draw.more, note=_count(hidden), style="dim")
    for child in children[len(hidden) :]:
        last = child is children[-1]
        inner = indent + ("   " if last else draw.bar)
        yield from _rows(child, indent + (draw.last if last else draw.tee), inner, draw, wanted)


def _folded(children: list[Node]) -> list[Node]:
    """The iterations that need no look: finished, and not the latest."""
    iterations = [child for child in children if child.iteration is not None]
    if len(iterations) != len(children):
        return []
    keep = SHOWN_ITERATIONS + 1
    return iterations[:-keep] if len(iterations) > keep + 1 else []


def _pruned(line: Line | None, children: list[Node]) -> str:
    """Which iterations were deleted from the journal."""
    if line is None or line.kind != "loop" or not children:
        return ""
    first = children[0].iteration
    return f"{first} earlier iterations, pruned from the journal" if first else ""


def _count(nodes: list[Node]) -> str:
    """How many iterations and entries a fold holds, by status when not all is well."""
    statuses: Counter[str] = Counter()
    retries = 0
    for node in nodes:
        for line in node.walk():
            statuses[line.status] += 1
            retries += max(0, line.attempts - 1)
    first, last = nodes[0].part, nodes[-1].part
    by_status = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    extra = f", {retries} {'retry' if retries == 1 else 'retries'}" if retries else ""
    return f"{first} to {last}: {len(nodes)} iterations, {by_status}{extra}"


def _errors(line: Line | None, indent: str) -> Iterator[Row]:
    if line is not None and line.failure is not None:
        for text in failure_lines(line.failure):
            yield Row(indent, "", note=text, style="red")


def failure_lines(failure: JsonObject, depth: int = 0) -> Iterator[str]:
    """An error and what caused it, a line each."""
    text = failure["type"] + (f": {failure['message']}" if failure["message"] else "")
    yield "  " * depth + ("caused by " if depth else "") + text
    for cause in failure["causes"]:
        yield from failure_lines(cause, depth + 1)


_TITLES = ("ENTRY", "KIND", "STATUS", "TRY", "STARTED", "TOOK", "VALUE")


def tree(root: Node, width: int, now: int, wanted: Wanted) -> Iterator[Text]:
    """The lines of the tree, ready to print; columns are as wide as they need to be, as far as there is room."""
    laid = list(rows(root, wanted))
    sizes = _sizes([row for row in laid if not row.note], width, now)
    yield columns([(text, size, "dim") for text, size in zip(_TITLES, sizes, strict=True)])
    for row in laid:
        yield _lay(row, sizes, width, now)


def _sizes(laid: list[Row], width: int, now: int) -> list[int]:
    """The width of each column: entry and value share what the others leave."""
    cells = [_cells(row.line, now) for row in laid if row.line is not None]
    middle = [
        max(len(title), *map(cell_len, column))
        for title, column in zip(_TITLES[1:-1], _columns(cells)[:-1], strict=True)
    ]
    room = width - sum(middle) - len(_TITLES) + 1
    names = max((cell_len(row.guide) + cell_len(row.label) for row in laid), default=0)
    values = max(map(cell_len, _columns(cells)[-1]), default=0)
    least = min(names, room * 3 // 5)
    entry = max(len(_TITLES[0]), min(names, max(least, room - values)))
    return [entry, *middle, max(0, room - entry)]


def _columns(cells: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return list(zip(*cells, strict=True)) if cells else [()] * (len(_TITLES) - 1)


def _cells(line: Line, now: int) -> tuple[str, ...]:
    """What stands behind an entry's name."""
    return (
        line.kind,
        line.status,
        str(line.attempts) if line.attempts else "",
        times.short(line.started_at or line.created_at, now),
        _took(line),
        value_text(line, now),
    )


def _lay(row: Row, sizes: list[int], width: int, now: int) -> Text:
    if row.note:
        label = f"{row.label} " if row.label else ""
        return Text(row.guide + label + clip(row.note, width - cell_len(row.guide + label)), row.style)
    name = row.guide + clip(row.label, max(1, sizes[0] - cell_len(row.guide)))
    if row.line is None:
        return columns([(name, sizes[0], "dim")])
    tries = "yellow" if row.line.attempts > 1 else ""
    styles = ("dim", STYLES.get(row.line.status, ""), tries, "dim", "", "")
    cells = zip(_cells(row.line, now), sizes[1:], styles, strict=True)
    return columns([(name, sizes[0], ""), *cells])


def _took(line: Line) -> str:
    if line.completed_at is None:
        return ""
    return times.span(line.completed_at - (line.started_at or line.created_at))


def value_text(line: Line, now: int) -> str:
    """What an entry holds, or what it waits for."""
    if line.status == "pending" and line.retry_at is not None:
        return f"tries again {times.ahead(line.retry_at, now)}"
    if line.status == "pending" and line.deadline is not None:
        return f"{'wakes' if line.kind == 'sleep' else 'gives up'} {times.ahead(line.deadline, now)}"
    if line.kind == "sleep":
        return f"until {times.full(line.deadline)}" if line.deadline is not None else ""
    if line.kind == "loop" and line.status == "running":
        state = "" if line.value is None else f", state {json_text(line.value)}"
        return f"iteration {line.iteration}{state}"
    if line.kind == "message":
        return _messages(line)
    return "" if line.value is None else json_text(line.value)


def _messages(line: Line) -> str:
    if line.value is None:
        return "nothing came in time" if line.status == "completed" else ""
    messages = line.value if isinstance(line.value, list) else [line.value]
    return ", ".join(f"{m['name']} {json_text(m['body'])}" for m in messages if isinstance(m, dict))
