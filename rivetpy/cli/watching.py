"""A journal looked at again and again: each time only what may have changed is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from rivetpy.cli.journal import Line, read_lines
from rivetpy.cli.source import Source
from rivetpy.wire.jsonvalue import JsonObject


@dataclass(frozen=True, slots=True)
class Look:
    """A journal at a moment; ``changed`` is what is new or otherwise than the last time."""

    history: JsonObject
    lines: list[Line]
    changed: list[Line]
    #: How many entries there are besides.
    unknown: int

    @property
    def status(self) -> str | None:
        """The workflow's; None for an actor without one."""
        workflow = self.history["workflow"]
        return None if workflow is None else str(workflow["status"])


class Watch:
    """One actor's journal; ``limit``: only its newest entries, and those that are added."""

    def __init__(self, actor: str, limit: int | None) -> None:
        self._actor = actor
        self._limit = limit
        self._known: dict[str, Line] = {}
        #: How many entries are there and not known.
        self._unknown = 0
        self._since: int | None = None

    def look(self, source: Source) -> Look:
        """The journal as it is now. Raises RivetError when the engine is gone."""
        history = source.history(self._actor, self._limit, self._since)
        there = {line.location: line for line in read_lines(history["history"])}
        if self._since is not None:
            merged = self._known | there
            # Entries that are not there any more are not told: a rewind, or a loop's old iterations.
            if history["size"] - len(merged) != self._unknown:
                self._since = None
                return self.look(source)
            there = merged
        changed = [line for place, line in there.items() if self._known.get(place) != line]
        lines = sorted(there.values(), key=lambda line: line.seq)
        self._known, self._unknown = there, history["size"] - len(there)
        self._since = max((line.completed_at or line.begun_at for line in lines), default=None)
        return Look(history, lines, sorted(changed, key=lambda line: line.seq), self._unknown)
