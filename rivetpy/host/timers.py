"""Calls to come of an awake actor: when the next is due, and making it (spec actors 2)."""

from __future__ import annotations

from collections.abc import Callable

from rivetpy import codec
from rivetpy.clock import Clock, Timer
from rivetpy.host import actions, cron, schedule
from rivetpy.host.context import ActorContext
from rivetpy.host.due import due_at
from rivetpy.host.parts import Parts
from rivetpy.host.rows import Changes, Table
from rivetpy.workflow import layout


class Timers:
    """When every call to come is due. ``begin`` starts the call of a row."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._clock = clock
        self._due: dict[bytes, int] = {}
        self._running: set[bytes] = set()
        self._alarm: Timer | None = None
        self._begin: Callable[[bytes], None] | None = None
        self._note(dict(table.items(layout.CALL) + table.items(layout.CRON)))
        table.on_change = self._changed

    def start(self, begin: Callable[[bytes], None]) -> None:
        """The actor is awake: make the calls that are due, then each in its time."""
        self._begin = begin
        self._set_alarm()

    def stop(self) -> None:
        """The actor leaves: make no more calls."""
        self._begin = None
        self._set_alarm()

    def next_due(self) -> int | None:
        """When the next call is due (epoch ms)."""
        return min(self._due.values(), default=None)

    def done(self, key: bytes) -> None:
        """The call of a row is over."""
        self._running.discard(key)
        self._set_alarm()

    def _changed(self, changes: Changes) -> None:
        if self._note(changes):
            self._set_alarm()

    def _note(self, changes: Changes) -> bool:
        touched = False
        for key, data in changes.items():
            if key.startswith((layout.CALL, layout.CRON)):
                touched = True
                if data is None:
                    self._due.pop(key, None)
                else:
                    self._due[key] = due_at(key, data)
        return touched

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        waiting = [due for key, due in self._due.items() if key not in self._running]
        if self._begin is not None and waiting:
            self._alarm = self._clock.call_at(min(waiting), self._ring)

    def _ring(self) -> None:
        now = self._clock.now()
        late = [key for key, due in self._due.items() if due <= now and key not in self._running]
        for key in sorted(late, key=self._due.__getitem__):
            if self._begin is not None:
                self._running.add(key)
                self._begin(key)
        self._set_alarm()


async def call(parts: Parts, key: bytes) -> None:
    """Make the call of a row. Raises `StoreError`, without the call if the row never became durable."""
    await parts.core.caught_up()  # what a step planned for now is on its way with the step's record
    await (_call_once(parts, key) if key.startswith(layout.CALL) else _call_job(parts, key))


async def _call_once(parts: Parts, key: bytes) -> None:
    data = parts.table.get(key)
    if data is not None:
        made = schedule.unpack(data)
        await _run(parts, key, made.action, made.args, {key: None})
        if parts.table.get(key) is not None:
            await parts.rows.change({key: None})


async def _call_job(parts: Parts, key: bytes) -> None:
    data = parts.table.get(key)
    if data is None:
        return
    job, clock = cron.unpack(data), parts.core.clock
    started = clock.now()
    after = job.advanced(started).pack()
    error = await _run(parts, key, job.action, job.args, {key: after})
    now = parts.table.get(key)
    if now in {data, after}:  # and not replaced or deleted meanwhile
        following = job.advanced(started).remembering(started, clock.now(), job.due, error)
        await parts.rows.change({key: following.pack()})


async def _run(parts: Parts, key: bytes, action: str, args: bytes, after: Changes) -> str | None:
    """Call the action; its change of the state and the row's are one commit. What went wrong, if anything did."""
    context = ActorContext(parts)
    before = parts.table.get(key)

    def along() -> Changes:
        return after if parts.table.get(key) == before else {}

    context.along = along
    try:
        await actions.call(parts.core, context, action, codec.decode(args))
    except Exception as error:
        parts.failed(f"scheduled action {action!r}", error)
        return f"{type(error).__name__}: {error}"
    return None
