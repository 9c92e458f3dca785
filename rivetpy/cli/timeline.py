"""Bars over time: when each entry of a tree was at work or waited, and for how much of the whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rivetpy.cli.journal import FRAMES, WAITING, Line
from rivetpy.cli.terminal import unicode_out


@dataclass(frozen=True, slots=True)
class Timeline:
    """The time from ``start`` to ``end`` (epoch ms) as so many cells."""

    start: int
    end: int
    cells: int

    def bar(self, line: Line, now: int) -> str:
        """The cells of an entry: thick for work, dotted for waiting, thin for what frames others."""
        first = self._cell(line.created_at)
        last = self._cell(line.ended_at(now))
        return " " * first + _stroke(line.kind) * (last - first + 1)

    def _cell(self, at: int) -> int:
        inside = min(max(at, self.start), self.end) - self.start
        return min(inside * self.cells // (self.end - self.start), self.cells - 1)


def timeline(lines: Iterable[Line], cells: int, now: int) -> Timeline | None:
    """The timeline of what is shown; None when there is nothing to compare. Frames don't make it longer."""
    shown = [line for line in lines if line.kind not in FRAMES]
    if len(shown) < 2:
        return None
    start, end = min(line.created_at for line in shown), max(line.ended_at(now) for line in shown)
    return Timeline(start, end, cells) if end > start else None


def _stroke(kind: str) -> str:
    if kind in WAITING:
        return "┄" if unicode_out() else "."
    if kind in FRAMES:
        return "─" if unicode_out() else "-"
    return "━" if unicode_out() else "="
