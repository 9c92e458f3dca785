"""Cursors of listings: the time and the number of the last row of a page, so that pages don't shift."""

from __future__ import annotations

import re

from rivetpy.errors import StoreError

#: Epoch milliseconds, and the how-manieth row that was created.
Position = tuple[int, int]

_CURSOR = re.compile(r"(-?[0-9]{1,18})\.([0-9]{1,18})")


def write_cursor(position: Position) -> str:
    """The cursor of the page that begins after this position."""
    return f"{position[0]}.{position[1]}"


def read_cursor(cursor: str) -> Position:
    """The inverse. Raises `StoreError` ``invalid_cursor`` for a text that no page returned."""
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise StoreError("invalid_cursor", f"{cursor!r} is not the cursor of a page; begin without one.")
    return int(match[1]), int(match[2])
