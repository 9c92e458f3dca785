"""A registry with one actor of every ability the engine reaches."""

from __future__ import annotations

import asyncio
from typing import Any

from rivetpy import ActorOptions, Registry, UserError, actor, queue, setup
from rivetpy.workflow import Loop, workflow


def registry(**options: Any) -> Registry:
    counter = actor(
        create_state=lambda c, given: {"value": (given or {}).get("start", 0)},
        queues={"jobs": queue(), "stop": queue(), "idle": queue()},
        run=workflow(_run),
        actions={
            "add": _add,
            "echo": lambda c, *args: list(args),
            "getState": lambda c: c.state,
            "nothing": lambda c: None,
            "refuse": _refuse,
            "crash": _crash,
            "big": lambda c, size: "x" * size,
            "weird": lambda c: {"x": float("nan")},
            "slow": _slow,
            "a.b/c": lambda c: "nested",
        },
        options=ActorOptions(**options),
    )
    plain = actor(state={"ready": True}, actions={"ping": lambda c: "pong"})
    return setup(use={"counter": counter, "plain": plain})


def _add(c: Any, amount: int) -> int:
    c.state["value"] += amount
    return int(c.state["value"])


def _refuse(c: Any) -> None:
    raise UserError("user says no", code="my_code", metadata={"big": 2, "x": 1})


def _crash(c: Any) -> None:
    raise ValueError("the password is hunter2")


async def _slow(c: Any, seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "done"


async def _run(ctx: Any) -> Any:
    return await ctx.loop("work", _iteration)


async def _iteration(loop: Any) -> Any:
    message = await loop.queue.next("wait", names=["jobs", "stop"], completable=True)
    if message.name == "stop":
        await message.complete()
        return Loop.break_("stopped")
    total = await loop.step("apply", _apply, message.body)
    await message.complete({"total": total})
    return None


async def _apply(step: Any, body: Any) -> int:
    step.state["value"] += body["n"]
    return int(step.state["value"])
