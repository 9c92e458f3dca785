"""What the host tells whoever watches an engine: an event of a workflow or an actor, and whose it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rivetpy.store import ActorRow
from rivetpy.workflow.failure import Failure


@dataclass(frozen=True, slots=True)
class HostEvent:
    """``kind`` is stable (run_started, step_failed, …), ``text`` is for people, ``level`` is logging's."""

    kind: str
    actor: ActorRow
    text: str
    level: int
    location: str | None = None
    failure: Failure | None = None


Watcher = Callable[[HostEvent], None]
