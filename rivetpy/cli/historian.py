"""Printing a journal: whole, one entry of it, or as it grows."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rivetpy.cli.journal import STILL, Line, build_tree, read_lines
from rivetpy.cli.problems import Problem
from rivetpy.cli.shared import Color
from rivetpy.cli.source import Source
from rivetpy.cli.text import json_text
from rivetpy.errors import did_you_mean
from rivetpy.wire.jsonvalue import JsonObject

if TYPE_CHECKING:
    from rich.text import Text

    from rivetpy.cli.outline import Wanted

#: Seconds between two looks while following, at least; never more than a part of the time goes into looking.
PAUSE = 0.25
LOOKING = 0.2
#: With so many entries, the nearest name helps more than a list of them.
FEW = 50


@dataclass(frozen=True, slots=True)
class View:
    """Whose journal is shown, and how."""

    source: Source
    actor: JsonObject
    color: Color
    as_json: bool

    def load(self) -> JsonObject:
        """The journal as it is now."""
        return self.source.inspect(self.actor["actor_id"], "workflow-history")


def show_history(view: View, limit: int | None, full: bool) -> None:
    """Print a header and the tree, or an object a line."""
    history = view.load()
    lines = read_lines(history["history"])
    shown = lines[-limit:] if limit else lines
    if view.as_json:
        _print_json(shown)
        return
    from rivetpy.cli.outline import Wanted
    from rivetpy.cli.terminal import show

    wanted = Wanted(fold=not full and limit is None, whole=len(shown) == len(lines))
    show(_whole(view, history, shown, wanted), view.color)
    if len(shown) < len(lines):
        print(f"{len(lines) - len(shown)} earlier entries not shown")


def _whole(view: View, history: JsonObject, lines: list[Line], wanted: Wanted) -> Iterator[Text]:
    from rich.text import Text

    from rivetpy.cli.render_actor import header
    from rivetpy.cli.render_history import tree
    from rivetpy.cli.terminal import width

    yield from header(view.actor, history, lines, width(), _now())
    if lines:
        yield Text()
        yield from tree(build_tree(lines), width(), _now(), wanted)


def show_entry(view: View, location: str) -> None:
    """Print all that one entry holds. Raises Problem with the nearest location when there is none."""
    lines = {line.location: line for line in read_lines(view.load()["history"])}
    line = lines.get(location)
    if line is None:
        known = list(lines)[-FEW:]
        raise Problem(f"There is no entry {location!r}. {did_you_mean(location, known)}")
    if view.as_json:
        _print_json([line])
        return
    from rivetpy.cli.render_entry import entry_lines
    from rivetpy.cli.terminal import show

    show(entry_lines(line, _now()), view.color)


def follow_history(view: View, limit: int | None) -> None:
    """Print entries as they come or change, until the workflow stands still or the person has seen enough."""
    seen: dict[str, Line] | None = None
    while True:
        begun = time.monotonic()
        history = view.load()
        lines = read_lines(history["history"])
        if seen is None:
            _follow(view, lines[-limit:] if limit else lines)
        else:
            _follow(view, [line for line in lines if seen.get(line.location) != line])
        seen = {line.location: line for line in lines}
        workflow = history["workflow"]
        if workflow is None or workflow["status"] in STILL:
            _say_end(view, history, lines)
            return
        time.sleep(max(PAUSE, (time.monotonic() - begun) / LOOKING))


def _follow(view: View, lines: list[Line]) -> None:
    if view.as_json:
        _print_json(lines)
    elif lines:
        import sys

        from rivetpy.cli.render_entry import entry_line
        from rivetpy.cli.terminal import show, width

        show((text for line in lines for text in entry_line(line, width(), _now())), view.color)
        sys.stdout.flush()


def _say_end(view: View, history: JsonObject, lines: list[Line]) -> None:
    if not view.as_json:
        from rivetpy.cli.render_standing import standing
        from rivetpy.cli.terminal import show, width

        show(standing(view.actor, history, lines, width(), _now()), view.color)


def _print_json(lines: Iterable[Line]) -> None:
    for line in lines:
        print(json_text(line.as_json()))
    print(end="", flush=True)


def _now() -> int:
    return time.time_ns() // 1_000_000
