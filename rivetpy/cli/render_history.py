"""The tree of a journal laid out in columns: as many as there is room for, the eye led to what stands or failed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

from rich.cells import cell_len
from rich.text import Text

from rivetpy.cli import times
from rivetpy.cli.journal import Line, Node
from rivetpy.cli.outline import Row, Wanted, guides, rows
from rivetpy.cli.render_values import STYLES, branch_text, kind_text, status_text, value_text
from rivetpy.cli.terminal import clip, columns, unicode_out, wrap
from rivetpy.cli.text import visible
from rivetpy.cli.timeline import Timeline, timeline

#: So many lines decide how wide the columns are; those after them go out as they come.
MEASURED = 1000
#: What a value gets at least before a name is cut, and before a column is left out for it.
_LEAST_VALUE, _GOOD_VALUE = 12, 20
#: A timeline has so many cells, at least and at most.
_LEAST_BAR, _MOST_BAR = 12, 32
_MARGIN = 2
#: Below this width attempts are only told when there were several.
_NARROW = 60
#: An error's text is cut after so many lines; `--entry` shows all of it.
_NOTE_LINES = 4


@dataclass(frozen=True, slots=True)
class Column:
    """A column between an entry's name and its value; in a terminal that narrow it may be left out."""

    title: str
    below: int


#: The order on the line; left out, where there is no room, from the one that may go first.
_MIDDLE = (
    Column("KIND", 80),
    Column("STATUS", 60),
    Column("TRY", 50),
    Column("STARTED", 120),
    Column("TOOK", 70),
)
_EXPENDABLE = tuple(sorted(_MIDDLE, key=lambda column: -column.below))


@dataclass(frozen=True, slots=True)
class Plan:
    """Which columns there are, and how wide each is."""

    entry: int
    middle: dict[str, int]
    timeline: Timeline | None
    value: int


def tree(root: Node, width: int, now: int, wanted: Wanted) -> Iterator[Text]:
    """The lines of the tree, ready to print; columns are as wide as they need to be, as far as there is room."""
    laid = rows(root, wanted)
    measured = list(islice(laid, MEASURED))
    plan = _plan([row for row in measured if not row.note], width, now)
    yield _titles(plan)
    for row in chain(measured, laid):
        yield from _lay(row, plan, width, now)


def _plan(laid: list[Row], width: int, now: int) -> Plan:
    """Entry and value share what the others leave; the timeline gets what those two can spare."""
    cells = [_cells(row, now) for row in laid]
    names = max((cell_len(row.guide) + cell_len(visible(row.label)) for row in laid), default=0)
    values = max((cell_len(each["VALUE"]) for each in cells), default=0)
    middle = {
        column.title: max(len(column.title), *(cell_len(each[column.title]) for each in cells), 0)
        for column in _MIDDLE
    }
    if width < _NARROW and not any(each["TRY"] not in {"", "1"} for each in cells):
        del middle["TRY"]
    enough = min(names, width // 2) + min(values, _GOOD_VALUE)
    for column in _EXPENDABLE:
        if width < column.below and _room(width, middle) < enough:
            middle.pop(column.title, None)
    room = _room(width, middle)
    entry = max(len("ENTRY"), min(names, room - min(values, _LEAST_VALUE)))
    bar = min(_MOST_BAR, room - entry - max(len("VALUE"), min(values, 2 * _GOOD_VALUE)) - 1)
    line = timeline((row.line for row in laid if row.line), bar, now) if bar >= _LEAST_BAR else None
    return Plan(entry, middle, line, max(0, room - entry - (bar + 1 if line else 0)))


def _room(width: int, middle: dict[str, int]) -> int:
    """What the middle columns leave for names and values, a space between them."""
    return width - _MARGIN - sum(middle.values()) - len(middle) - 1


def _titles(plan: Plan) -> Text:
    cells = [("ENTRY", plan.entry), *((title, size) for title, size in plan.middle.items())]
    if plan.timeline is not None:
        spread = f"0 to {times.span(plan.timeline.end - plan.timeline.start)}"
        cells.append((spread, plan.timeline.cells))
    return _line("", [(text, size, "dim") for text, size in (*cells, ("VALUE", plan.value))])


def _cells(row: Row, now: int) -> dict[str, str]:
    """What stands behind a name, by column."""
    if row.branch is not None:
        return _all(KIND="branch", STATUS=row.branch.status, VALUE=branch_text(row.branch))
    line = row.line
    if line is None:
        return _all()
    return {
        "KIND": kind_text(line),
        "STATUS": status_text(line),
        "TRY": str(line.attempts) if line.attempts else "",
        "STARTED": times.short(line.begun_at, now),
        "TOOK": _took(line, now),
        "VALUE": value_text(line, now),
    }


def _all(**some: str) -> dict[str, str]:
    return dict.fromkeys([*(column.title for column in _MIDDLE), "VALUE"], "") | some


def _lay(row: Row, plan: Plan, width: int, now: int) -> Iterator[Text]:
    """The line of a row; a name too long for its column has one of its own before it."""
    room = width - _MARGIN - cell_len(row.guide)
    if row.note:
        told = [f"{row.label} {row.note}"] if row.label else wrap(row.note, room, most=_NOTE_LINES)
        for text in told:
            yield Text(" " * _MARGIN, end="\n").append(row.guide).append(clip(text, room), row.style)
        return
    mark, style = _mark(row)
    name, size = row.guide + clip(row.label, max(1, room)), plan.entry
    if row.line is None and row.branch is None:
        yield _line("", [(name, max(size, cell_len(name)), "dim")])
        return
    if cell_len(name) > size:
        yield _line(mark, [(name, cell_len(name), style)])
        mark, name = "", guides().under(row.guide)
    yield _line(mark, [(name, size, style), *_behind(row, plan, now)])


def _behind(row: Row, plan: Plan, now: int) -> Iterator[tuple[str, int, str]]:
    """What stands behind a name: text, width and style of each column."""
    cells = _cells(row, now)
    status = cells["STATUS"]
    won = row.branch is not None and row.branch.won
    styles = {"STATUS": STYLES.get(status, ""), "TRY": "yellow" if cells["TRY"] not in {"", "1"} else ""}
    for title, size in plan.middle.items():
        yield cells[title], size, styles.get(title, "dim")
    if plan.timeline is not None:
        bar = plan.timeline.bar(row.line, now) if row.line is not None else ""
        yield bar, plan.timeline.cells, styles["STATUS"]
    value = cells["VALUE"]
    if "STATUS" not in plan.middle and status != "completed":
        value = f"{status}, {value}" if value else status
    yield value, plan.value, "green" if won else ""


def _mark(row: Row) -> tuple[str, str]:
    """What leads the eye to a row, before it and as its style: where the workflow stands, and what failed."""
    line = row.line
    if (line is not None and line.failed) or (row.branch is not None and row.branch.status == "failed"):
        return ("✗" if unicode_out() else "x"), "bold red"
    if line is not None and line.stands:
        return ("→" if unicode_out() else ">"), "bold"
    return "", ""


def _line(mark: str, cells: list[tuple[str, int, str]]) -> Text:
    """A line behind its margin; the mark is in the style of the name."""
    line = Text(end="\n", no_wrap=True, overflow="ignore")
    return line.append(mark.ljust(_MARGIN), cells[0][2] if mark else None).append_text(columns(cells))


def _took(line: Line, now: int) -> str:
    """How long the last attempt took, or how long it has been so far."""
    if line.completed_at is not None:
        return times.span(line.completed_at - line.begun_at)
    waits_to_try = line.retry_at is not None and not line.working
    return "" if waits_to_try else f"{times.span(now - line.begun_at)}+"
