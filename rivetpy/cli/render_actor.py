"""Actors for the terminal: the header over a history, and the table of `rivet actors`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from rich.cells import cell_len
from rich.text import Text

from rivetpy.cli import times
from rivetpy.cli.journal import Line
from rivetpy.cli.render_standing import standing
from rivetpy.cli.render_values import STYLES
from rivetpy.cli.terminal import columns, wrap
from rivetpy.cli.text import visible
from rivetpy.wire.jsonvalue import JsonObject


def header(
    actor: JsonObject, history: JsonObject, lines: Sequence[Line], width: int, now: int
) -> Iterator[Text]:
    """Who it is, how its workflow stands and why, and how much there is of it."""
    yield from standing(actor, history, lines, width, now)
    facts = f"{times.span(now - actor['create_ts'])} old, id {actor['actor_id']}"
    size = max(len(lines), history.get("size", 0))
    if lines:
        latest = max(line.completed_at or line.begun_at for line in lines)
        facts = f"{size} {'entry' if size == 1 else 'entries'}, latest {times.ago(latest, now)}, {facts}"
    for text in wrap(facts, width, "  "):
        yield Text(text, "dim")


#: The columns: title, how much of a long text is shown at least, and at most. The last one takes what is left.
_COLUMNS = (
    ("NAME", 20, 24),
    ("KEY", 12, 24),
    ("STATUS", 9, 9),
    ("WORKFLOW", 12, 12),
    ("QUEUE", 5, 5),
    ("ENTRIES", 7, 7),
    ("AGE", 6, 6),
    ("WAKES", 9, 9),
    ("WAITS FOR", 16, 1000),
)
#: What is left out where there is no room for all, from the first on.
_EXPENDABLE = ("AGE", "ENTRIES", "STATUS", "QUEUE", "WAKES", "WAITS FOR")
_PLACES = {title: place for place, (title, _, _) in enumerate(_COLUMNS)}
_SHORTEST = 8
_STATUSES = (2, 3)
_MEASURED = 100


def table(actors: Iterable[JsonObject], width: int, now: int) -> Iterator[Text]:
    """A line per actor under a line of titles; the first ones decide how wide the columns are."""
    lines = (_cells(actor, now) for actor in actors)
    measured = list(islice(lines, _MEASURED))
    sizes = _sizes(measured, width)
    yield _row(tuple(title for title, _, _ in _COLUMNS), sizes, "dim")
    for cells in chain(measured, lines):
        yield _row(cells, sizes, "")


def _row(cells: tuple[str, ...], sizes: list[int], style: str) -> Text:
    """A line of the table; a column of width 0 is left out."""
    styles = [style or (STYLES.get(text, "") if i in _STATUSES else "") for i, text in enumerate(cells)]
    return columns([cell for cell in zip(cells, sizes, styles, strict=True) if cell[1]])


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
    """As wide as the content, within each column's bounds; what doesn't fit is left out, or taken from the widest.

    A column that nobody has anything in, or that is left out, gets 0.
    """
    needed = [max((cell_len(line[i]) for line in lines), default=1) for i in range(len(_COLUMNS))]
    wanted = list(zip(_COLUMNS, needed, strict=True))
    lows = [need and max(len(title), min(need, least)) for (title, least, _), need in wanted]
    sizes = [need and max(len(title), min(need, most)) for (title, _, most), need in wanted]
    for title in _EXPENDABLE:
        if _over(lows, width) <= 0:
            break
        lows[_PLACES[title]] = sizes[_PLACES[title]] = 0
    while _over(sizes, width) > 0:
        spare = [size - low for size, low in zip(sizes, lows, strict=True)]
        if max(spare) <= 0:  # names and keys themselves are too long
            lows = [min(low, _SHORTEST) for low in lows]
            spare = [size - low for size, low in zip(sizes, lows, strict=True)]
        sizes[max(range(len(sizes)), key=spare.__getitem__)] -= 1
    return sizes


def _over(sizes: list[int], width: int) -> int:
    """By how many cells a line would be too long."""
    shown = [size for size in sizes if size]
    return sum(shown) + len(shown) - 1 - width
