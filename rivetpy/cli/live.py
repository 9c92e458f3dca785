"""The page of a journal that changes in place: as much of it as fits the screen, the place it stands at in view."""

from __future__ import annotations

import shutil
from types import TracebackType
from typing import Self

from rich.console import Group
from rich.live import Live
from rich.text import Text

from rivetpy.cli.historian import View, page
from rivetpy.cli.journal import ENDED
from rivetpy.cli.outline import Wanted
from rivetpy.cli.terminal import clip, console, show, width
from rivetpy.cli.watching import Look


class Page:
    """A terminal's page; what it showed last stays when it is closed, whole."""

    #: A diverged workflow goes on with the next save.
    last = ENDED

    def __init__(self, view: View, fold: bool) -> None:
        self._view = view
        self._fold = fold
        self._look: Look | None = None
        self._note = ""
        self._live = Live(
            console=console(view.color),
            auto_refresh=False,
            screen=True,  # what a person types, or a window of another size, leaves no trace
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()
        if self._look is not None:
            show(self._texts(self._look), self._view.color)

    def show(self, look: Look) -> None:
        """The page as it is now."""
        self._look = look
        texts = self._texts(look)
        if self._note:
            texts.append(Text(clip(self._note, width()), "yellow"))
        self._live.update(Group(*fitted(texts, shutil.get_terminal_size().lines)), refresh=True)

    def note(self, text: str) -> None:
        """A last line about the engine."""
        self._note = text
        if self._look is not None:
            self.show(self._look)

    def end(self, look: Look) -> None:
        """What there is to see stays."""

    def _texts(self, look: Look) -> list[Text]:
        return list(page(self._view, look.history, look.lines, Wanted(self._fold, whole=not look.unknown)))


def fitted(texts: list[Text], height: int) -> list[Text]:
    """So many of the lines: the head of the page, and of its tree what is around the last place that is marked."""
    if len(texts) <= height:
        return texts
    head = next((place for place, text in enumerate(texts) if not text.plain), 0) + 2
    head = min(head, height // 2)
    room = height - head - 1
    marked = [place for place, text in enumerate(texts) if place >= head and text.plain[:1].strip()]
    end = min(len(texts), max(marked[-1] + 1 + room // 4 if marked else len(texts), head + room))
    above, below = end - room - head, len(texts) - end
    gone = " and ".join(
        f"{count} lines {side}" for count, side in ((above, "above"), (below, "below")) if count
    )
    return [*texts[:head], *texts[end - room : end], Text(f"  … {gone}", "dim")]
