"""The journal as a tree: a header, then a line per entry, with what failed under it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from rivetpy.cli import times
from rivetpy.cli.journal import BranchLine, Line, Node
from rivetpy.cli.render_values import (
    STYLES,
    branch_text,
    error_lines,
    failure_lines,
    kind_text,
    status_text,
    value_text,
)
from rivetpy.cli.terminal import clip, columns, unicode_out
from rivetpy.cli.text import visible

#: Finished iterations shown in full before the one that runs; older ones fold into a line with counts.
SHOWN_ITERATIONS = 1


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the tree before it is laid out; ``note`` stands for folded iterations or an error's text."""

    guide: str
    label: str
    line: Line | None = None
    branch: BranchLine | None = None
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
    yield Row(guide, node.part, node.line, node.branch)
    children = list(node.children.values())
    yield from _errors(node, indent + (draw.bar if children else "   "))
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


def _errors(node: Node, indent: str) -> Iterator[Row]:
    """Why it failed, unless what failed stands below with its own reason."""
    if any(line.failure is not None for child in node.children.values() for line in child.walk()):
        return
    failure = node.branch.failure if node.branch is not None else None
    texts = [*(failure_lines(failure) if failure else ()), *(error_lines(node.line) if node.line else ())]
    for text in texts:
        yield Row(indent, "", note=text, style="red")


#: Values are cut before names are, down to so many cells.
_LEAST_VALUE = 12
_TITLES = ("ENTRY", "KIND", "STATUS", "TRY", "STARTED", "TOOK", "VALUE")


def tree(root: Node, width: int, now: int, wanted: Wanted) -> Iterator[Text]:
    """The lines of the tree, ready to print; columns are as wide as they need to be, as far as there is room."""
    laid = list(rows(root, wanted))
    sizes = _sizes([row for row in laid if not row.note], width, now)
    yield columns([(text, size, "dim") for text, size in zip(_TITLES, sizes, strict=True)])
    for row in laid:
        yield from _lay(row, sizes, width, now)


def _sizes(laid: list[Row], width: int, now: int) -> list[int]:
    """The width of each column: entry and value share what the others leave."""
    cells = [cells for row in laid if (cells := _cells(row, now)) is not None]
    middle = [
        max(len(title), *map(cell_len, column))
        for title, column in zip(_TITLES[1:-1], _columns(cells)[:-1], strict=True)
    ]
    room = width - sum(middle) - len(_TITLES) + 1
    names = max((cell_len(row.guide) + cell_len(visible(row.label)) for row in laid), default=0)
    values = max(map(cell_len, _columns(cells)[-1]), default=0)
    entry = max(len(_TITLES[0]), min(names, room - min(values, _LEAST_VALUE)))
    return [entry, *middle, max(0, room - entry)]


def _columns(cells: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return list(zip(*cells, strict=True)) if cells else [()] * (len(_TITLES) - 1)


def _cells(row: Row, now: int) -> tuple[str, ...] | None:
    """What stands behind a name; None for a scope of which nothing is to tell."""
    if row.branch is not None:
        return ("branch", row.branch.status, "", "", "", branch_text(row.branch))
    line = row.line
    if line is None:
        return None
    return (
        kind_text(line),
        status_text(line),
        str(line.attempts) if line.attempts else "",
        times.short(line.started_at or line.created_at, now),
        _took(line),
        value_text(line, now),
    )


def _lay(row: Row, sizes: list[int], width: int, now: int) -> Iterator[Text]:
    """The line of a row; a name too long for its column has one of its own before it."""
    if row.note:
        label = f"{row.label} " if row.label else ""
        yield Text(row.guide + label + clip(row.note, width - cell_len(row.guide + label)), row.style)
        return
    cells = _cells(row, now)
    name = row.guide + clip(row.label, max(1, width - cell_len(row.guide)))
    if cells is None or cell_len(name) > sizes[0]:
        yield columns([(name, max(sizes[0], cell_len(name)), "dim" if cells is None else "")])
        name = _under(row.guide)
    if cells is None:
        return
    tries = "yellow" if row.line is not None and row.line.attempts > 1 else ""
    won = "green" if row.branch is not None and row.branch.won else ""
    styles = ("dim", STYLES.get(cells[1], ""), tries, "dim", "", won)
    yield columns([(name, sizes[0], ""), *zip(cells, sizes[1:], styles, strict=True)])


def _under(guide: str) -> str:
    """The guide of a second line of a row: what goes on below it."""
    draw = guides()
    return guide.replace(draw.tee, draw.bar).replace(draw.last, " " * len(draw.last))


def _took(line: Line) -> str:
    if line.completed_at is None:
        return ""
    return times.span(line.completed_at - (line.started_at or line.created_at))
