"""A long list of actors, asked for a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rivetpy.wire.jsonvalue import JsonObject

PAGE = 100
#: At most so many actors from a cursor on, and the cursor of those after them.
AskForPage = Callable[[int, str | None], tuple[list[JsonObject], str | None]]


class Paged:
    """The actors, at most ``limit`` of them, from ``cursor`` on; at the end that is where the rest begins, if any."""

    def __init__(self, page: AskForPage, limit: int | None, cursor: str | None) -> None:
        self.cursor = cursor
        self._page = page
        self._left = limit

    def __iter__(self) -> Iterator[JsonObject]:
        while self._left is None or self._left > 0:
            found, self.cursor = self._page(
                PAGE if self._left is None else min(PAGE, self._left), self.cursor
            )
            if self._left is not None:
                self._left -= len(found)
            yield from found
            if self.cursor is None:
                return
