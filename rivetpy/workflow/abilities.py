"""What actions and steps alike may do with their actor besides its state: kept values, later calls, its database."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from rivetpy.codec import Value
from rivetpy.workflow.duration import Duration

K = TypeVar("K", str, bytes)


class KeyValues(Protocol):
    """Durable values by key, for what is too large or too many for the state. In a step: written with the step.

    Keys are str or bytes of at most 2 KiB (``"a"`` and ``b"a"`` are two keys), values whatever can be stored, of at
    most 128 KiB. Too large: RivetError ``kv.key_too_large``, ``kv.value_too_large``; nothing is written then.
    """

    async def get(self, key: str | bytes, default: Value = None) -> Value:
        """The value of a key, as a fresh object."""
        ...

    async def put(self, key: str | bytes, value: Value) -> None:
        """Keep a value."""
        ...

    async def delete(self, key: str | bytes) -> bool:
        """Forget a key; whether it was there."""
        ...

    async def list(self, prefix: K, limit: int | None = None) -> dict[K, Value]:
        """The keys of the prefix's kind that begin with it, in order, with their values; ``""`` for all."""
        ...

    async def batch(
        self,
        put: Mapping[str, Value] | Mapping[bytes, Value] | None = None,
        delete: Collection[str | bytes] = (),
    ) -> None:
        """Several changes at once: all of them or none."""
        ...


@dataclass(frozen=True, slots=True)
class ScheduledAction:
    """An action that will be called later."""

    id: str
    at: dt.datetime
    action: str
    args: list[Value]


class Schedule(Protocol):
    """Actions of this actor to be called later: durable, and they wake it. In a step: changed with the step.

    Each is called once, late rather than never; a crash in the middle of it calls it again. What it changes in the
    state and that it was called are one commit.
    """

    async def after(self, delay: Duration, action: str, /, *args: Value) -> str:
        """Call an action after seconds or a timedelta; the id of the call to come.

        Raises RivetError ``actor.action_not_found``, or `EncodeError`.
        """
        ...

    async def at(self, when: dt.datetime | float, action: str, /, *args: Value) -> str:
        """Call an action at an aware datetime or epoch seconds; as `after`."""
        ...

    async def get(self, id: str) -> ScheduledAction | None:
        """A call to come."""
        ...

    async def list(self) -> list[ScheduledAction]:
        """All calls to come, soonest first."""
        ...

    async def cancel(self, id: str) -> bool:
        """Don't call; False when it was called or cancelled already."""
        ...


class Database(Protocol):
    """The actor's own SQLite database: a file that nothing else writes. It is not part of the journal: what a step
    does here is done when it is done, and again when the step runs again."""

    async def execute(self, sql: str, *args: Value) -> list[dict[str, Value]]:
        """Run one statement; its rows as dicts. Committed when this returns, unless in a `transaction`.

        Arguments are for ``?`` in order, or one mapping for ``:name``. Raises what sqlite3 raises.
        """
        ...

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """``async with``: what is executed inside is committed together, or rolled back when it raises. Others
        wait meanwhile; inside one, another is a savepoint."""
        ...
