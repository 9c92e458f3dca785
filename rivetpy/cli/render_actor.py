"""Actors for the terminal: the header over a history, and the table of `rivet actors`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from rich.cells import cell_len
from rich.text import Text

from rivetpy.cli import times
from rivetpy.cli.render_standing import standing
from rivetpy.cli.render_values import STYLES
from rivetpy.cli.terminal import clip, columns
from rivetpy.cli.text import visible
from rivetpy.wire.jsonvalue import JsonObject


def header(actor: JsonObject, history: JsonObject, width: int, now: int) -> Iterator[Text]:
    """Who it is, and how its workflow stands."""
    yield Text(clip(f"{actor['name']} {actor['key']}", width), "bold")
    yield Text(clip(f"id {actor['actor_id']}, created {times.full(actor['create_ts'])}", width), "dim")
    yield from standing(actor, history, width, now)


#: The columns: title, the narrowest and the widest it may be. The last one takes what is left.
_COLUMNS = (
    ("NAME", 8, 24),
    ("KEY", 4, 24),
    ("STATUS", 8, 9),
    ("WORKFLOW", 8, 12),
    ("QUEUE", 5, 5),
    ("ENTRIES", 7, 7),
    ("AGE", 6, 6),
    ("WAKES", 8, 9),
    ("WAITS FOR", 9, 1000),
)
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
    """As wide as the content, within each column's bounds; what doesn't fit is taken from the widest.

    A column that nobody has anything in gets 0.
    """
    needed = [max((cell_len(line[i]) for line in lines), default=0) for i in range(len(_COLUMNS))]
    lows = [
        max(low, len(title)) if need or not lines else 0
        for (title, low, _), need in zip(_COLUMNS, needed, strict=True)
    ]
    sizes = [
        low and min(max(need, low), high)
        for need, low, (_, _, high) in zip(needed, lows, _COLUMNS, strict=True)
    ]
    room = width - sum(map(bool, sizes)) + 1
    while sum(sizes) > room:
        spare = [size - low for size, low in zip(sizes, lows, strict=True)]
        widest = max(range(len(sizes)), key=spare.__getitem__)
        if not spare[widest]:
            break
        sizes[widest] -= 1
    return sizes
