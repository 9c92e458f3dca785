"""Printing a journal: whole, one entry of it, or as it grows."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from rivetpy.cli.journal import FINISHED, Line, build_tree, read_lines
from rivetpy.cli.problems import Problem
from rivetpy.cli.shared import Color
from rivetpy.cli.source import Source
from rivetpy.cli.text import json_text
from rivetpy.errors import did_you_mean
from rivetpy.wire.jsonvalue import JsonObject

#: Seconds between two looks while following.
PAUSE = 0.25


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
    from rivetpy.cli.render_actor import header
    from rivetpy.cli.render_history import Wanted, tree
    from rivetpy.cli.terminal import console, width

    out, now = console(view.color), time.time_ns() // 1_000_000
    for text in header(view.actor, history, width(), now):
        out.print(text, soft_wrap=True)
    if shown:
        out.print()
        wanted = Wanted(fold=not full and limit is None, whole=len(shown) == len(lines))
        for text in tree(build_tree(shown), width(), now, wanted):
            out.print(text, soft_wrap=True)
    if len(shown) < len(lines):
        out.print(f"{len(lines) - len(shown)} earlier entries not shown", style="dim")


def show_entry(view: View, location: str) -> None:
    """Print all that one entry holds. Raises Problem with the nearest location when there is none."""
    lines = {line.location: line for line in read_lines(view.load()["history"])}
    line = lines.get(location)
    if line is None:
        near = did_you_mean(location, list(lines)[:200]) if len(lines) < 200 else "See: rivet history --full"
        raise Problem(f"There is no entry {location!r}. {near}")
    if view.as_json:
        _print_json([line])
        return
    from rivetpy.cli.render_entry import entry_lines
    from rivetpy.cli.terminal import console

    out = console(view.color)
    for text in entry_lines(line, time.time_ns() // 1_000_000):
        out.print(text, soft_wrap=True)


def follow_history(view: View, limit: int | None) -> None:
    """Print entries as they come or change, until the workflow has ended or the person has seen enough."""
    seen: dict[str, Line] = {}
    first = True
    while True:
        history = view.load()
        lines = read_lines(history["history"])
        news = [line for line in lines if seen.get(line.location) != line]
        _follow(view, news[-limit:] if first and limit else news)
        seen = {line.location: line for line in lines}
        first = False
        workflow = history.get("workflow")
        if workflow is None or workflow["status"] in FINISHED:
            _say_end(view, history)
            return
        time.sleep(PAUSE)


def _follow(view: View, lines: list[Line]) -> None:
    if view.as_json:
        _print_json(lines)
        return
    from rivetpy.cli.render_entry import entry_line
    from rivetpy.cli.terminal import console, width

    out, now = console(view.color), time.time_ns() // 1_000_000
    for line in lines:
        for text in entry_line(line, width(), now):
            out.print(text, soft_wrap=True)


def _say_end(view: View, history: JsonObject) -> None:
    if view.as_json:
        return
    from rivetpy.cli.render_actor import standing
    from rivetpy.cli.terminal import console, width

    out = console(view.color)
    for text in standing(history, width(), time.time_ns() // 1_000_000):
        out.print(text, soft_wrap=True)


def _print_json(lines: Iterable[Line]) -> None:
    for line in lines:
        print(json_text(line.as_json()), flush=True)
