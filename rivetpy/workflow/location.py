"""Where an entry is: the path of names from the root, as text (spec workflows 1).

``process/~3/charge`` is step ``charge`` in iteration 3 of loop ``process``. A scope is the part before the
last slash. Slashes never appear inside a name (they are percent-coded), so splitting needs no parser.
"""

from __future__ import annotations

import functools
import itertools
import reprlib
from collections.abc import Iterator

MAX_NAME = 256
ROOT = ""


@functools.lru_cache(maxsize=4096)
def segment(name: str) -> str:
    """The name as a path segment.

    Raises ValueError for a name that is empty, too long, or has control characters or lone surrogates.
    """
    if not isinstance(name, str):
        raise TypeError(
            f"the name comes first and is a str, as in `await ctx.step('name', fn)`, not {reprlib.repr(name)}"
        )
    if not name or len(name) > MAX_NAME:
        raise ValueError(f"a name in a workflow has 1 to {MAX_NAME} characters: {name[:40]!r}")
    if any(ord(letter) < 0x20 or ord(letter) == 0x7F or 0xD800 <= ord(letter) < 0xE000 for letter in name):
        raise ValueError(f"a name in a workflow has no control characters: {name!r}")
    coded = name.replace("%", "%25").replace("/", "%2F")
    return "%7E" + coded[1:] if coded.startswith("~") else coded


def name_of(part: str) -> str:
    """The name a path segment stands for."""
    return part.replace("%7E", "~").replace("%2F", "/").replace("%25", "%")


def child(scope: str, part: str) -> str:
    """The location of a segment in a scope."""
    return f"{scope}/{part}" if scope else part


def iteration(loop: str, index: int) -> str:
    """The scope of one iteration of a loop."""
    return f"{loop}/~{index}"


def split(location: str) -> tuple[str, str]:
    """Scope and last segment."""
    scope, _, part = location.rpartition("/")
    return scope, part


def readable(location: str) -> str:
    """The location as people read it: names as they were given."""
    return "/".join(name_of(part) for part in location.split("/"))


def ancestors(location: str) -> Iterator[tuple[str, str]]:
    """Every location above this one, outermost first, each with the segment that leads down from it."""
    parts = location.split("/")
    for depth in range(1, len(parts)):
        yield "/".join(parts[:depth]), parts[depth]


def common(one: str, other: str) -> str:
    """The innermost place that two locations are both in."""
    parts = itertools.takewhile(
        lambda pair: pair[0] == pair[1], zip(one.split("/"), other.split("/"), strict=False)
    )
    return "/".join(part for part, _ in parts)
