"""Durations and points in time as users write them, turned into milliseconds or refused."""

from __future__ import annotations

import datetime as dt
import math

Duration = float | dt.timedelta
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
#: 9999-12-31T23:59:59.999Z: the last moment every view can show.
END_OF_TIME = 253_402_300_799_999


def milliseconds(duration: Duration, what: str) -> int:
    """A duration in seconds or as a timedelta, rounded up to whole milliseconds; negative ones become 0.

    Raises TypeError or ValueError, naming ``what``.
    """
    seconds = duration.total_seconds() if isinstance(duration, dt.timedelta) else duration
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"{what}: a duration is seconds or a timedelta, not {duration!r}")
    if not math.isfinite(seconds) or seconds * 1000 > END_OF_TIME:
        raise ValueError(f"{what}: {duration!r} is beyond the year 9999; give a finite, shorter duration")
    return max(0, math.ceil(round(seconds * 1000, 3)))


def moment(when: dt.datetime | float, what: str) -> int:
    """An aware datetime or epoch seconds, as epoch milliseconds.

    Raises TypeError or ValueError, naming ``what``.
    """
    if isinstance(when, dt.datetime):
        if when.utcoffset() is None:
            raise ValueError(
                f"{what}: the naive datetime {when!r} names no moment; add a zone, e.g. tzinfo=timezone.utc"
            )
        when = (when - EPOCH).total_seconds()
    if isinstance(when, bool) or not isinstance(when, int | float):
        raise TypeError(f"{what}: a moment is an aware datetime or epoch seconds, not {when!r}")
    if not math.isfinite(when) or when * 1000 > END_OF_TIME:
        raise ValueError(f"{what}: {when!r} is beyond the year 9999")
    return max(0, math.ceil(round(when * 1000, 3)))


def deadline(now: int, duration_ms: int) -> int:
    """``now`` plus a duration, never past the end of time (epoch ms)."""
    return min(now + duration_ms, END_OF_TIME)


def show(epoch_ms: int) -> str:
    """A moment as people read it, in UTC."""
    moment = EPOCH + dt.timedelta(milliseconds=epoch_ms)
    return moment.isoformat(sep=" ", timespec="seconds").replace("+00:00", "Z")
