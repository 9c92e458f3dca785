"""When stored calls are due, with or without their actor in memory."""

from __future__ import annotations

from collections.abc import Iterable

from rivetpy.host import cron, schedule
from rivetpy.workflow import layout


def due_at(key: bytes, data: bytes) -> int:
    """When the call of a row is due (epoch ms)."""
    return schedule.unpack(data).due if key.startswith(layout.CALL) else cron.unpack(data).due


def next_due(rows: Iterable[tuple[bytes, bytes]]) -> int | None:
    """When the first call among an actor's rows is due (epoch ms)."""
    calls = (item for item in rows if item[0].startswith((layout.CALL, layout.CRON)))
    return min((due_at(key, data) for key, data in calls), default=None)
