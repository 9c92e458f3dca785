"""When a connection is opened again, and when no more: its states, the errors that pass, the pauses (wire 7.3)."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Literal

from rivetpy.client.calls import MAY_HAVE_RUN, NOT_RUN
from rivetpy.errors import RivetError

Status = Literal["connecting", "connected", "disconnected", "closed"]

#: What may follow what. ``disconnected`` is the pause before the next attempt; nothing follows ``closed``.
CHANGES: dict[Status, frozenset[Status]] = {
    "connecting": frozenset({"connected", "disconnected", "closed"}),
    "connected": frozenset({"disconnected", "closed"}),
    "disconnected": frozenset({"connecting", "closed"}),
    "closed": frozenset(),
}
#: Answers to an attempt that a later one may not get. Who is refused otherwise is not asked again.
PASSING = (
    NOT_RUN
    | MAY_HAVE_RUN
    | {
        "actor.dropped_reply",
        "actor.not_configured",
        "actor.not_found",
        "actor.stopped",
        "client.connection_failed",
        "client.params_failed",
        "guard.actor_runner_failed",
        "pegboard.route_resolve_query_timeout",
        "ws.going_away",
    }
)
#: Seconds: the first pause, doubled from try to try up to the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 30.0
#: A connection that lasted so long (seconds) is opened again at once.
LASTED = 1.0


def passes(error: RivetError, *, by_id: bool) -> bool:
    """Whether another attempt makes sense. An id that is gone stays gone; a key may be made again."""
    name = f"{error.group}.{error.code}"
    return name in PASSING and not (by_id and name == "actor.not_found")


class Backoff:
    """Pauses between attempts, each by chance up to a half shorter, so that many clients don't come at once."""

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        self._chance = chance
        self._pause = 0.0

    @property
    def trying(self) -> bool:
        """Whether attempts failed already."""
        return self._pause > 0

    def connected(self, seconds: float) -> None:
        """A connection was open for so long."""
        if seconds >= LASTED:
            self._pause = 0.0

    def next(self, *, at_once: bool) -> float:
        """Seconds before the next attempt; ``at_once`` is whether the first of them needs no pause."""
        if self._pause == 0.0 and at_once:
            self._pause = FIRST_PAUSE
            return 0.0
        pause, self._pause = (
            self._pause or FIRST_PAUSE,
            min(LONGEST_PAUSE, 2 * self._pause or 2 * FIRST_PAUSE),
        )
        return pause * (1 - self._chance() / 2)
