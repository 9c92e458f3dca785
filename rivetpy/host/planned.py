"""An actor's calls to come as seen from outside, awake or asleep, from its rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rivetpy.host import cron, schedule
from rivetpy.workflow import layout


@dataclass(frozen=True, slots=True)
class RunView:
    """One call that was made. Times are epoch ms; ``error`` is None when nothing went wrong."""

    scheduled_at: int
    started_at: int
    finished_at: int
    error: str | None


@dataclass(frozen=True, slots=True)
class PlannedView:
    """A call to come: ``at`` a time once, or again and again (``cron``, ``every``). Times are epoch ms."""

    id: str
    kind: str
    action: str
    #: As encoded.
    args: bytes
    next_at: int
    expression: str | None = None
    timezone: str | None = None
    interval: int | None = None
    max_history: int | None = None
    #: Oldest first.
    runs: tuple[RunView, ...] = ()


Plans = list[PlannedView]


def planned(rows: Iterable[tuple[bytes, bytes]]) -> Plans:
    """What an actor's rows plan, the next one first."""
    found = [_view(key, data) for key, data in rows if key.startswith((layout.CALL, layout.CRON))]
    return sorted(found, key=lambda each: (each.next_at, each.id))


def _view(key: bytes, data: bytes) -> PlannedView:
    name = key[1:].decode()
    if key.startswith(layout.CALL):
        call = schedule.unpack(data)
        return PlannedView(name, "at", call.action, call.args, call.due)
    job = cron.unpack(data)
    return PlannedView(
        name,
        "every" if job.expression is None else "cron",
        job.action,
        job.args,
        job.due,
        job.expression,
        job.timezone if job.expression is not None else None,
        job.interval,
        job.max_history,
        tuple(RunView(*run) for run in job.history),
    )
