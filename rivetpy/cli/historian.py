"""Printing a journal: whole, or one place of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rivetpy.cli.journal import Line, Node, build_tree, read_lines
from rivetpy.cli.problems import Problem
from rivetpy.cli.shared import Color
from rivetpy.cli.source import Source
from rivetpy.cli.text import json_text
from rivetpy.errors import did_you_mean
from rivetpy.wire.jsonvalue import JsonObject

if TYPE_CHECKING:
    from rich.text import Text

    from rivetpy.cli.outline import Wanted

#: So many of the newest entries are read for a tree, unless somebody asks for others.
NEWEST = 2000
#: With so many entries, the nearest name helps more than a list of them.
FEW = 50


@dataclass(frozen=True, slots=True)
class View:
    """Whose journal is shown, and how."""

    source: Source
    actor: JsonObject
    color: Color
    as_json: bool

    def load(self, limit: int | None = None) -> JsonObject:
        """The journal as it is now, or its newest entries."""
        return self.source.history(self.actor["actor_id"], limit)


def show_history(view: View, limit: int | None, full: bool) -> None:
    """Print a header and the tree, or an object a line."""
    if view.as_json:
        lines = read_lines(view.load(limit)["history"])
        print_json(lines[-limit:] if limit else lines)
        return
    history = view.load(limit or (None if full else NEWEST))
    lines = read_lines(history["history"])
    from rivetpy.cli.outline import Wanted
    from rivetpy.cli.terminal import show

    wanted = Wanted(fold=not full and limit is None, whole=history["size"] <= len(lines))
    show(page(view, history, lines, wanted), view.color)


def page(view: View, history: JsonObject, lines: list[Line], wanted: Wanted) -> Iterator[Text]:
    """A header and the tree, and how much is not in it."""
    from rich.text import Text

    from rivetpy.cli.render_actor import header
    from rivetpy.cli.render_history import tree
    from rivetpy.cli.terminal import width

    yield from header(view.actor, history, lines, width(), now())
    if lines:
        yield Text()
        yield from tree(build_tree(lines), width(), now(), wanted)
    if not wanted.whole:
        yield Text(f"  {history['size'] - len(lines)} earlier entries not shown, --full shows all", "dim")


def show_entry(view: View, location: str) -> None:
    """Print all that one place holds: an entry, and what is in it.

    Raises Problem with the nearest location when there is none.
    """
    lines = read_lines(view.load()["history"])
    node = _place(build_tree(lines), location)
    if node is None:
        known = [line.location for line in lines[-FEW:]]
        raise Problem(f"There is no entry {location!r}. {did_you_mean(location, known)}")
    if view.as_json:
        print_json(node.walk())
        return
    from rivetpy.cli.terminal import show

    show(_whole_place(node), view.color)


def _place(node: Node, location: str) -> Node | None:
    """The place of a tree at a location; there is none at the root."""
    for part in location.split("/"):
        if part not in node.children:
            return None
        node = node.children[part]
    return node


def _whole_place(node: Node) -> Iterator[Text]:
    from rich.text import Text

    from rivetpy.cli.outline import Wanted
    from rivetpy.cli.render_entry import entry_lines
    from rivetpy.cli.render_history import tree
    from rivetpy.cli.terminal import width

    if node.line is not None:
        yield from entry_lines(node.line, now())
    if node.children:
        if node.line is not None:
            yield Text()
        yield from tree(node, width(), now(), Wanted(whole=False))


def print_json(lines: Iterable[Line]) -> None:
    """Print an object a line."""
    for line in lines:
        print(json_text(line.as_json()))
    print(end="", flush=True)


def now() -> int:
    """Epoch ms."""
    return time.time_ns() // 1_000_000
