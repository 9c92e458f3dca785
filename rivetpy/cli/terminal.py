"""The terminal as the commands use it: width, colour, and lines of cells cut to fit."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from rivetpy.cli.shared import Color
from rivetpy.cli.text import visible

MIN_WIDTH = 40


def show(lines: Iterable[Text], color: Color) -> None:
    """Print lines. Colour only on a terminal, never with NO_COLOR, always when asked for."""
    if not color.on():
        for line in lines:
            sys.stdout.write(f"{line.plain}\n")
        return
    out = console(color)
    for line in lines:
        out.print(line, soft_wrap=True)


def console(color: Color) -> Console:
    """Standard output for what rich draws: as wide as it is at each moment, nothing in texts interpreted."""
    return Console(
        file=sys.stdout,
        force_terminal=True,
        no_color=False,  # NO_COLOR was asked about already; --color always goes before it
        color_system="standard" if color.on() else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def width() -> int:
    """Cells in a line."""
    return max(shutil.get_terminal_size().columns, MIN_WIDTH)


def unicode_out() -> bool:
    """Whether lines and dots beyond ASCII can be printed."""
    return (sys.stdout.encoding or "").lower().replace("-", "") in {"utf8", "utf16", "utf32"}


def clip(text: str, cells: int) -> str:
    """User text made visible and cut to a number of cells, with an ellipsis when something is missing."""
    if len(text) <= cells and text.isascii() and text.isprintable():
        return text
    longest = 4 * cells + 4  # enough even when every character has three combining ones
    shown = visible(text[:longest])
    if len(text) <= longest and cell_len(shown) <= cells:
        return shown
    mark = "…" if unicode_out() else "~"
    return set_cell_size(shown, cells - 1) + mark if cells > 0 else ""


def clip_left(text: str, cells: int) -> str:
    """The same, cut at its beginning: of a place in a tree the end tells most."""
    shown = visible(text)
    if cell_len(shown) <= cells:
        return shown
    mark = "…" if unicode_out() else "~"
    while cell_len(shown) > cells - 1:
        shown = shown[max(1, (cell_len(shown) - cells) // 2) :]
    return mark + shown


def wrap(text: str, cells: int, indent: str = "", most: int | None = None) -> list[str]:
    """User text made visible and broken at words into lines of so many cells, ``indent`` before each.

    A text that begins with spaces keeps them on all its lines. ``most``: after so many lines it is cut.
    """
    indent += " " * (len(text) - len(text.lstrip(" ")))
    room = max(cells - cell_len(indent), 1)
    if most is not None:
        text = text[: 4 * cells * most]
    # The console is asked for nothing but its defaults.
    lines = [line.plain.rstrip() for line in Text(visible(text.lstrip(" "))).wrap(Console(width=cells), room)]
    if most is not None and len(lines) > most:
        lines = [*lines[: most - 1], clip(lines[most - 1] + " " * room + ".", room)]
    return [indent + line for line in lines]


def pad(text: str, cells: int) -> str:
    """The text in exactly so many cells."""
    shown = clip(text, cells)
    return shown.ljust(cells) if shown.isascii() else set_cell_size(shown, cells)


def columns(cells: Sequence[tuple[str, int, str]]) -> Text:
    """One line of (text, width, style), a space between them and none at the end."""
    line = Text(no_wrap=True, overflow="ignore", end="\n")
    for place, (text, size, style) in enumerate(cells):
        if place:
            line.append(" ")
        line.append(pad(text, size), style or None)
    line.rstrip()
    return line
