"""`rivet history --follow`: a page that changes in place on a terminal, lines that are added elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import Protocol

from rivetpy.cli.historian import NEWEST, View, now, print_json
from rivetpy.cli.journal import STILL
from rivetpy.cli.problems import Problem
from rivetpy.cli.shared import Common
from rivetpy.cli.source import Source, open_engine
from rivetpy.cli.watching import Look, Watch
from rivetpy.errors import RivetError

#: Seconds between two looks, at least; never more than a part of the time goes into looking.
PAUSE = 0.25
LOOKING = 0.2
#: Seconds between two tries to find the engine again.
AGAIN = 0.5
_GONE = frozenset({"client.connection_failed", "client.connection_lost", "actor.restarting"})


class Printer(Protocol):
    """Where the looks go."""

    #: With one of these the workflow does nothing more that is worth waiting for.
    last: frozenset[str]

    def show(self, look: Look) -> None:
        """What there is to see now."""
        ...

    def note(self, text: str) -> None:
        """Something about the engine; empty when there is no more to say about it."""
        ...

    def end(self, look: Look) -> None:
        """The workflow ended."""
        ...


def follow_history(common: Common, view: View, limit: int | None, full: bool) -> None:
    """Print entries as they come or change, until the workflow stands still or the person has seen enough."""
    if view.as_json or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        _follow(common, view, Watch(view.actor["actor_id"], limit), Lines(view))
        return
    from rivetpy.cli.live import Page

    with Page(view, fold=not full) as shown:
        _follow(common, view, Watch(view.actor["actor_id"], limit or NEWEST), shown)


def _follow(common: Common, view: View, watch: Watch, printer: Printer) -> None:
    with contextlib.ExitStack() as opened:
        source = view.source
        while True:
            begun = time.monotonic()
            try:
                look = watch.look(source)
            except RivetError as error:
                if f"{error.group}.{error.code}" not in _GONE:
                    raise
                printer.note("the engine is gone; waiting for it")
                source = opened.enter_context(_found_again(common))
                printer.note("")
                continue
            printer.show(look)
            if look.status is None or look.status in printer.last:
                printer.end(look)
                return
            time.sleep(max(PAUSE, (time.monotonic() - begun) / LOOKING))


@contextlib.contextmanager
def _found_again(common: Common) -> Iterator[Source]:
    """The engine once it answers, wherever it came back."""
    while True:
        with contextlib.ExitStack() as opened:
            try:
                source = opened.enter_context(open_engine(common))
                source.metadata()
            except (Problem, RivetError):
                time.sleep(AGAIN)
                continue
            yield source
            return


class Lines:
    """A line, or an object, per entry that came or changed; for pipes and files."""

    last = STILL

    def __init__(self, view: View) -> None:
        self._view = view

    def show(self, look: Look) -> None:
        if self._view.as_json:
            print_json(look.changed)
        elif look.changed:
            from rivetpy.cli.render_entry import entry_line
            from rivetpy.cli.terminal import show, width

            show(
                (text for line in look.changed for text in entry_line(line, width(), now())), self._view.color
            )
            sys.stdout.flush()

    def note(self, text: str) -> None:
        print(text or "the engine is back", file=sys.stderr)

    def end(self, look: Look) -> None:
        if not self._view.as_json:
            from rivetpy.cli.render_standing import standing
            from rivetpy.cli.terminal import show, width

            show(standing(self._view.actor, look.history, look.lines, width(), now()), self._view.color)
