"""``items[2].price=9.5``: a place in a state and the value that goes there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rivetpy.cli.body import BodyError, parse_json
from rivetpy.cli.problems import UsageProblem
from rivetpy.wire.jsonvalue import Json

_PIECE = re.compile(r"\[(\d+)\]|\.?([^.\[\]=]+)")


@dataclass(frozen=True, slots=True)
class Assignment:
    """One change; ``path`` has names for objects and numbers for lists, and is empty for the whole state."""

    text: str
    path: tuple[str | int, ...]
    value: Json

    def apply(self, state: Json) -> Json:
        """The state with the value in its place; the last name may be new, the way to it may not.

        Raises UsageProblem where the state has no such place.
        """
        return self._put(state, 0)

    def _put(self, state: Json, depth: int) -> Json:
        if depth == len(self.path):
            return self.value
        piece = self.path[depth]
        last = depth == len(self.path) - 1
        if isinstance(piece, int) and isinstance(state, list) and piece < len(state):
            return [*state[:piece], self._put(state[piece], depth + 1), *state[piece + 1 :]]
        if isinstance(piece, str) and isinstance(state, dict) and (last or piece in state):
            return {**state, piece: self._put(state.get(piece), depth + 1)}
        raise UsageProblem(f"{self.text}: {_missing(state, piece, _shown(self.path[:depth]))}")


def parse_assignment(text: str) -> Assignment:
    """Reads ``PATH=JSON``; the path may begin with ``$``. Raises UsageProblem with a caret at the place."""
    path, equals, value = text.partition("=")
    if not equals:
        raise UsageProblem(f"{text!r} has no '='. Write PATH=JSON, as value=5 or items[2].price=9.5")
    try:
        return Assignment(text, _path(path.strip(), text), parse_json(value))
    except BodyError as error:
        hint = f""". Text goes in double quotes: --set '{path}="{value}"'""" if value.isalnum() else ""
        raise UsageProblem(f"{path}: {error}{hint}", error.picture) from None


def _path(path: str, text: str) -> tuple[str | int, ...]:
    rest = path.removeprefix("$")
    pieces: list[str | int] = []
    place = 0
    while place < len(rest):
        found = _PIECE.match(rest, place)
        if found is None:
            raise UsageProblem(f"{text!r}: {path!r} is no path. Write it as value, a.b or items[2].price")
        pieces.append(int(found[1]) if found[1] is not None else found[2])
        place = found.end()
    if not pieces and path != "$":
        raise UsageProblem(f"{text!r} has no path before '='. The whole state is $")
    return tuple(pieces)


def _shown(path: tuple[str | int, ...]) -> str:
    return "$" + "".join(f"[{piece}]" if isinstance(piece, int) else f".{piece}" for piece in path)


def _missing(state: Json, piece: str | int, where: str) -> str:
    if isinstance(piece, int):
        has = f"a list of {len(state)}" if isinstance(state, list) else f"no list ({type(state).__name__})"
        return f"{where} is {has}, so it has no [{piece}]"
    if isinstance(state, dict):
        return f"{where} has no {piece!r}. It has: {', '.join(map(repr, list(state)[:8])) or 'nothing'}"
    return f"{where} is no object, so it has no {piece!r}"
