"""now, random, uuid: what is different every time, recorded so that a replay sees the same (spec workflows 1)."""

from __future__ import annotations

import datetime as dt
import random as randomness
import uuid as uuids

from rivetpy.workflow import step as steps
from rivetpy.workflow.duration import EPOCH
from rivetpy.workflow.scope import Scope

#: Nobody outside has seen the value before something else is recorded, so it travels with that. What the engine
#: may have died of was not reading a clock, so no number of crashes is enough.
_OPTIONS = steps.options(1_000_000, 0, 0, None, False, True)


async def now(scope: Scope, name: str) -> dt.datetime:
    """The time when this was first reached, aware, in UTC."""

    async def read(_: object) -> dt.datetime:
        return EPOCH + dt.timedelta(milliseconds=scope.run.port.clock.now())

    value = await steps.step(scope, name, read, (), _OPTIONS)
    assert isinstance(value, dt.datetime)
    return value


async def random(scope: Scope, name: str) -> float:
    """A number from 0 to 1, not fit for secrets."""

    async def draw(_: object) -> float:
        return randomness.random()  # noqa: S311 - says so

    return float(await steps.step(scope, name, draw, (), _OPTIONS))


async def uuid(scope: Scope, name: str) -> uuids.UUID:
    """A random UUID."""

    async def draw(_: object) -> uuids.UUID:
        return uuids.uuid4()

    value = await steps.step(scope, name, draw, (), _OPTIONS)
    assert isinstance(value, uuids.UUID)
    return value
