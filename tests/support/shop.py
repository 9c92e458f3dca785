"""A registry whose one workflow leaves every kind of entry in its journal: for tests of what shows a journal."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from rivetpy import Registry, UserError, actor, queue, setup
from rivetpy.workflow import CriticalError, Loop, workflow

HOSTILE = '<img src="x" onerror="alert(1)">'


def registry() -> Registry:
    shop = actor(
        state={"sold": 0, "price": 1.0, "note": HOSTILE},
        queues={"orders": queue(), "refunds": queue()},
        run=workflow(_run),
        actions={"getState": lambda c: c.state, "add": lambda c, one, other: one + other, "refuse": _refuse},
    )
    plain = actor(state={}, actions={"ping": lambda c: "pong"})
    return setup(use={"shop": shop, "plain": plain})


def _refuse(c: Any) -> None:
    raise UserError("not today", code="closed")


async def _run(ctx: Any) -> str:
    order = await ctx.queue.next("wait-order", names=["orders"])
    await ctx.step("charge", _charge, order.body, retry_backoff_base=timedelta(milliseconds=10))
    await ctx.join("offers", {"north": _branch("ask"), HOSTILE: _branch("ask")})
    await ctx.race("quote", {"cache": _branch("look-up"), "partner": _nap})
    await ctx.loop("parcels", _parcel, state=0)
    if order.body.get("fail"):
        await ctx.step("tell-bank", _tell_bank)
    if order.body.get("quick"):
        return "collected"
    await ctx.sleep("delivery", timedelta(days=3))
    return "delivered"


async def _charge(step: Any, order: Any) -> str:
    if step.attempt < 3:
        raise ConnectionError("the bank did not answer")
    step.state["sold"] += order["count"]
    return "receipt"


def _branch(name: str) -> Any:
    async def branch(ctx: Any) -> Any:
        return await ctx.step(name, _nothing)

    return branch


async def _nap(ctx: Any) -> None:
    await ctx.sleep("nap", timedelta(days=1))


async def _parcel(loop: Any, done: int) -> Any:
    await loop.step("pack", _nothing)
    return Loop.break_(done + 1) if done == 7 else Loop.continue_(done + 1)


async def _nothing(step: Any) -> None:
    return None


async def _tell_bank(step: Any) -> None:
    if not step.state.get("session"):
        raise CriticalError("no session") from KeyError("token")
