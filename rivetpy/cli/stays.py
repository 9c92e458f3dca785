"""How long the children of `rivet dev` have been where they are: what hangs is named, and not spared."""

from __future__ import annotations

from collections.abc import Iterable

from rivetpy.cli.process import Child, Stage

#: Seconds that a child may take to import, to check, to open the data, before a save or Ctrl-C gives it no more time.
SLOW = 5.0
#: Seconds after which its parent says so, when the child, which knows the line, did not.
SILENT = SLOW + 2.0
#: Seconds after which an import is given up for a save although the imports before it were, too.
HOPELESS = 30.0

_BUSY = {Stage.IMPORTING, Stage.CHECKING, Stage.OPENING}


class Stays:
    """Since when each child is in its stage (seconds, any clock that never goes back)."""

    def __init__(self) -> None:
        self._since: dict[Child, tuple[Stage, float]] = {}
        #: Where it is said already that it takes long.
        self._told: set[tuple[Child, Stage]] = set()

    def look(self, children: Iterable[Child], now: float) -> None:
        """See where everyone is."""
        before, self._since = self._since, {}
        for child in children:
            there = before.get(child)
            self._since[child] = there if there and there[0] is child.stage else (child.stage, now)
        self._told = {(child, stage) for child, stage in self._told if child in self._since}

    def seconds(self, child: Child, now: float) -> float:
        """How long it has been in its stage."""
        stage, since = self._since.get(child, (child.stage, now))
        return now - since if stage is child.stage else 0.0

    def left(self, child: Child, now: float) -> float:
        """Seconds until it has no more time for what it is at."""
        return max(0.0, SLOW - self.seconds(child, now))

    def tell(self, child: Child) -> bool:
        """Whether it is still to be told that it takes long there; from now on it is not. A child's own word may come
        when it has got on already."""
        if child.stage not in _BUSY or (child, child.stage) in self._told:
            return False
        self._told.add((child, child.stage))
        return True

    def silent(self, now: float) -> list[Child]:
        """Who takes long and has not said so."""
        return [child for child in self._since if self._due(child, now) == 0]

    def patience(self, now: float) -> list[float]:
        """Seconds until that changes, for each who is at something."""
        return [due for child in self._since if (due := self._due(child, now)) is not None]

    def _due(self, child: Child, now: float) -> float | None:
        if child.stage not in _BUSY or (child, child.stage) in self._told:
            return None
        return max(0.0, SILENT - self.seconds(child, now))
