"""The newest entries of a journal, and what they can't be understood without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from rivetpy.workflow.location import ancestors

T = TypeVar("T")


def newest(
    entries: Sequence[T], count: int | None, location: Callable[[T], str], finished: Callable[[T], bool]
) -> Sequence[T]:
    """The last so many (None: all) of entries in their order, and of those before them the frames that they are in
    and what is not finished: where the workflow stands may have been begun long ago."""
    if count is None or len(entries) <= count:
        return entries
    older, last = entries[: len(entries) - count], entries[len(entries) - count :]
    frames = {scope for entry in last for scope, _ in ancestors(location(entry))}
    return [entry for entry in older if not finished(entry) or location(entry) in frames] + list(last)
