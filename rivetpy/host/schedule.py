"""c.schedule and step.schedule: calls to come, once each (spec actors 2)."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import msgpack

from rivetpy import codec
from rivetpy.actors import ActorDefinition
from rivetpy.clock import Clock
from rivetpy.codec import Value
from rivetpy.host.rows import Rows
from rivetpy.identity import new_id
from rivetpy.workflow import abilities, layout
from rivetpy.workflow.abilities import ScheduledAction
from rivetpy.workflow.duration import EPOCH, Duration, deadline, milliseconds, moment

VERSION = 1


@dataclass(frozen=True, slots=True)
class Call:
    """A call to come, as its row has it: when (epoch ms), and what."""

    due: int
    action: str
    args: bytes

    def pack(self) -> bytes:
        """As stored."""
        packed: bytes = msgpack.packb([VERSION, self.due, self.action, self.args])
        return packed


def unpack(data: bytes) -> Call:
    """The inverse of `Call.pack`."""
    _, *fields = msgpack.unpackb(data)
    return Call(*fields)


def row_key(id: str) -> bytes:
    """The row of a call to come."""
    return layout.CALL + id.encode("utf-8", "replace")


class Schedule(abilities.Schedule):
    """Calls to come over an actor's rows."""

    def __init__(self, rows: Rows, definition: ActorDefinition, clock: Clock) -> None:
        self._rows = rows
        self._definition = definition
        self._clock = clock

    async def after(self, delay: Duration, action: str, /, *args: Value) -> str:
        due = deadline(self._clock.now(), milliseconds(delay, "schedule.after"))
        return await self._add(due, action, args)

    async def at(self, when: dt.datetime | float, action: str, /, *args: Value) -> str:
        return await self._add(moment(when, "schedule.at"), action, args)

    async def _add(self, due: int, action: str, args: tuple[Value, ...]) -> str:
        self._definition.find_action(action)
        id = new_id()
        await self._rows.change({row_key(id): Call(due, action, codec.encode(list(args))).pack()})
        return id

    async def get(self, id: str) -> ScheduledAction | None:
        data = self._rows.get(row_key(id))
        return None if data is None else _shown(row_key(id), data)

    async def list(self) -> list[ScheduledAction]:
        calls = [_shown(key, data) for key, data in self._rows.items(layout.CALL)]
        return sorted(calls, key=lambda call: call.at)

    async def cancel(self, id: str) -> bool:
        there = self._rows.get(row_key(id)) is not None
        if there:
            await self._rows.change({row_key(id): None})
        return there


def _shown(key: bytes, data: bytes) -> ScheduledAction:
    call = unpack(data)
    at = EPOCH + dt.timedelta(milliseconds=call.due)
    return ScheduledAction(key[len(layout.CALL) :].decode(), at, call.action, codec.decode(call.args))
