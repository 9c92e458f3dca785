"""c.cron: calls that come again and again, by a cron expression or every so often (spec actors 2)."""

from __future__ import annotations

import dataclasses
import datetime as dt
import zoneinfo
from collections.abc import Sequence
from dataclasses import dataclass

import msgpack
from cronsim import CronSim, CronSimError

from rivetpy import codec
from rivetpy.actors import ActorDefinition
from rivetpy.clock import Clock
from rivetpy.codec import Value
from rivetpy.errors import RivetError
from rivetpy.host.rows import Rows
from rivetpy.workflow import layout
from rivetpy.workflow.duration import EPOCH, Duration, milliseconds

VERSION = 1
#: The shortest interval (ms).
SHORTEST = 5000

_History = list[tuple[int, int, int, str | None]]


@dataclass(frozen=True, slots=True)
class CronJob:
    """A call that comes again and again."""

    name: str
    #: The cron expression, or None for one that comes every ``interval`` seconds.
    expression: str | None
    interval: float | None
    timezone: str
    action: str
    args: list[Value]
    max_history: int
    next_at: dt.datetime


@dataclass(frozen=True, slots=True)
class CronRun:
    """One call of a job that was made."""

    #: When it was due, and when it really ran.
    scheduled_at: dt.datetime
    started_at: dt.datetime
    finished_at: dt.datetime
    #: What went wrong; None when nothing did.
    error: str | None


Runs = list[CronRun]


@dataclass(frozen=True, slots=True)
class Job:
    """A job as its row has it. Times are epoch ms; ``interval`` is ms, or None with an ``expression``."""

    expression: str | None
    interval: int | None
    timezone: str
    action: str
    args: bytes
    max_history: int
    due: int
    history: _History

    def pack(self) -> bytes:
        """As stored."""
        packed: bytes = msgpack.packb([VERSION, *(getattr(self, f.name) for f in dataclasses.fields(self))])
        return packed

    def advanced(self, now: int) -> Job:
        """The job after it was called: due next after now. What was missed meanwhile does not come again."""
        return dataclasses.replace(self, due=self.following(now))

    def following(self, now: int) -> int:
        """When it is due next after now."""
        if self.interval is not None:
            return self.due + ((now - self.due) // self.interval + 1) * self.interval
        assert self.expression is not None
        return _following(self.expression, self.timezone, now)

    def remembering(self, started: int, finished: int, due: int, error: str | None) -> Job:
        """The job with one more run in its history."""
        history = [*self.history, (due, started, finished, error)]
        return dataclasses.replace(self, history=history[max(0, len(history) - self.max_history) :])


def unpack(data: bytes) -> Job:
    """The inverse of `Job.pack`."""
    _, *fields = msgpack.unpackb(data, use_list=True)
    return Job(*fields)


def row_key(name: str) -> bytes:
    """The row of a job."""
    return layout.CRON + name.encode("utf-8", "replace")


class Cron:
    """Calls of this actor's actions that come again and again: durable, and they wake it.

    A job that was missed, because the engine stood still, is called once. A job is not called while a call of it is
    still running. By an expression, changes of local time are handled as Debian's cron does.
    """

    def __init__(self, rows: Rows, definition: ActorDefinition, clock: Clock) -> None:
        self._rows = rows
        self._definition = definition
        self._clock = clock

    async def set(
        self,
        name: str,
        expression: str,
        action: str,
        args: Sequence[Value] = (),
        *,
        timezone: str = "UTC",
        max_history: int = 100,
    ) -> None:
        """Call an action by a cron expression of five fields, in a zone of the IANA database.

        The same again changes nothing, so it may stand in on_wake; anything else replaces the job of this name and
        keeps its history. Raises RivetError ``schedule.invalid_expression``, ``schedule.unknown_timezone``,
        ``actor.action_not_found``.
        """
        due = _following(expression, timezone, self._clock.now())
        await self._put(name, Job(expression, None, timezone, action, _packed(args), max_history, due, []))

    async def every(
        self,
        name: str,
        interval: Duration,
        action: str,
        args: Sequence[Value] = (),
        *,
        max_history: int = 100,
    ) -> None:
        """Call an action every ``interval`` seconds (5 or more) or timedelta, the first time after one of them."""
        pause = milliseconds(interval, f"cron.every({name!r})")
        if pause < SHORTEST:
            raise ValueError(f"cron.every({name!r}): an interval is 5 seconds or more, not {interval!r}")
        due = self._clock.now() + pause
        await self._put(name, Job(None, pause, "UTC", action, _packed(args), max_history, due, []))

    async def _put(self, name: str, job: Job) -> None:
        self._definition.find_action(job.action)
        if isinstance(job.max_history, bool) or not isinstance(job.max_history, int) or job.max_history < 0:
            raise ValueError(
                f"cron job {name!r}: max_history is a whole number from 0, not {job.max_history!r}"
            )
        data = self._rows.get(row_key(name))
        before = None if data is None else unpack(data)
        if before is not None:
            job = dataclasses.replace(job, history=before.history)
            if dataclasses.replace(job, due=before.due) == before:
                return
        await self._rows.change({row_key(name): job.pack()})

    async def get(self, name: str) -> CronJob | None:
        """A job."""
        data = self._rows.get(row_key(name))
        return None if data is None else _shown(name, unpack(data))

    async def list(self) -> list[CronJob]:
        """All jobs, by name."""
        rows = self._rows.items(layout.CRON)
        return [_shown(key[len(layout.CRON) :].decode(), unpack(data)) for key, data in rows]

    async def delete(self, name: str) -> bool:
        """Call no more; whether there was such a job."""
        there = self._rows.get(row_key(name)) is not None
        if there:
            await self._rows.change({row_key(name): None})
        return there

    async def history(self, name: str) -> Runs:
        """The calls that were made, newest first; at most the job's ``max_history``."""
        data = self._rows.get(row_key(name))
        runs = [] if data is None else unpack(data).history
        return [
            CronRun(_time(due), _time(start), _time(end), error) for due, start, end, error in reversed(runs)
        ]


def _following(expression: str, timezone: str, now: int) -> int:
    """The first moment after now that an expression names (epoch ms)."""
    try:
        zone = zoneinfo.ZoneInfo(timezone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise RivetError(
            "schedule",
            "unknown_timezone",
            f"There is no time zone {timezone!r}; give a name of the IANA database, as 'Europe/Vienna'.",
            status=400,
        ) from error
    try:
        following = next(CronSim(_five_fields(expression), _time(now).astimezone(zone)))
    except (CronSimError, StopIteration) as error:
        problem = str(error) or "it names no moment in the next 50 years"
        raise RivetError(
            "schedule", "invalid_expression", f"Cron expression {expression!r}: {problem}.", status=400
        ) from error
    return int(following.timestamp() * 1000)


def _five_fields(expression: str) -> str:
    if len(expression.split()) != 5:
        raise CronSimError("it has not five fields: minute hour day-of-month month day-of-week")
    return expression


def _packed(args: Sequence[Value]) -> bytes:
    return codec.encode(list(args))


def _time(epoch_ms: int) -> dt.datetime:
    return EPOCH + dt.timedelta(milliseconds=epoch_ms)


def _shown(name: str, job: Job) -> CronJob:
    return CronJob(
        name,
        job.expression,
        None if job.interval is None else job.interval / 1000,
        job.timezone,
        job.action,
        codec.decode(job.args),
        job.max_history,
        _time(job.due),
    )
