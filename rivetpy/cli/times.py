"""Times and spans for people; any integer of milliseconds prints, also one that no datetime can hold."""

from __future__ import annotations

import datetime as dt

_DAY = 86_400_000
#: The Gregorian calendar repeats after this many ms, so a far time can be shown by way of a near one.
_CYCLE_YEARS = 400
_CYCLE = 146_097 * _DAY
_LAST = 253_370_764_800_000  # 9999-01-01: a local time within a day of the year's end could still overflow


def full(ms: int) -> str:
    """A time with its date, in local time: ``2026-03-01 12:00:00``."""
    near, years = _near(ms)
    return f"{near.year + years:04d}-{near:%m-%d %H:%M:%S}"


def short(ms: int, now: int) -> str:
    """The time of day when that is enough (within half a day of ``now``), else the date; eight cells or more."""
    if abs(ms - now) < _DAY // 2:
        return f"{_near(ms)[0]:%H:%M:%S}"
    near, years = _near(ms)
    if abs(ms - now) < 180 * _DAY:
        return f"{near:%d %b}".rjust(8)
    return f"{near.year + years}-{near:%m}".rjust(8)


def span(ms: int) -> str:
    """A length of time in at most two units: ``12ms``, ``1.5s``, ``3m04s``, ``2h05m``, ``3d04h``, ``10000d``."""
    ms = max(ms, 0)
    if ms < 1000:
        return f"{ms}ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f}s" if ms < 59_950 else "1m00s"
    seconds = ms // 1000
    if seconds < 3600:
        return f"{seconds // 60}m{seconds % 60:02d}s"
    if seconds < 86_400:
        return f"{seconds // 3600}h{seconds % 3600 // 60:02d}m"
    days, hours = seconds // 86_400, seconds % 86_400 // 3600
    return f"{days}d{hours:02d}h" if days < 100 else f"{days}d"


def until(ms: int, now: int) -> str:
    """A time to come, or one that is due: ``12:00:05 (in 4.2s)``."""
    left = f"in {span(ms - now)}" if ms > now else "due"
    return f"{full(ms)} ({left})"


def ahead(ms: int, now: int) -> str:
    """The same, shorter and with what matters first: ``in 4.2s (12:00:05)``."""
    return f"in {span(ms - now)} ({short(ms, now).strip()})" if ms > now else "now"


def ago(ms: int, now: int) -> str:
    """How long ago: ``4.2s ago``, ``just now``."""
    return f"{span(now - ms)} ago" if now - ms >= 1000 else "just now"


def _near(ms: int) -> tuple[dt.datetime, int]:
    """A local datetime with the same day and time of the calendar, and how many years are to be added."""
    cycles = 0
    if ms > _LAST:
        cycles = -((_LAST - ms) // _CYCLE)
    elif ms < 0:
        cycles = ms // _CYCLE
    near = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=ms - cycles * _CYCLE)
    return near.astimezone(), cycles * _CYCLE_YEARS
