"""What the official JavaScript client's tests talk to."""

from __future__ import annotations

from typing import Any

from rivetpy import ActorOptions, UserError, actor, queue, setup
from rivetpy.workflow import Loop, workflow


def _refuse(c: Any) -> None:
    raise UserError("user says nö", code="my_code", metadata={"big": 2, "x": b"\x01"})


def _crash(c: Any) -> None:
    raise ValueError("the password is hunter2")


def _add(c: Any, amount: int) -> int:
    c.state["value"] += amount
    return int(c.state["value"])


async def _work(ctx: Any) -> Any:
    return await ctx.loop("work", _iteration)


async def _iteration(loop: Any) -> Any:
    message = await loop.queue.next("wait", names=["jobs"], completable=True)
    await message.complete({"got": message.body})
    return Loop.continue_()


def _shout(c: Any, *args: Any) -> int:
    c.broadcast("said", *args)
    return len(c.conns)


def _check(c: Any, params: Any) -> None:
    if params == {"who": "nöbody"}:
        raise UserError("not you", code="unwanted", metadata=params)


thing = actor(
    create_state=lambda c, given: {"value": 0, "given": given},
    queues={"jobs": queue(), "ignored": queue()},
    run=workflow(_work),
    actions={
        "add": _add,
        "echo": lambda c, value: value,
        "given": lambda c: c.state["given"],
        "nested.deeper": lambda c, *args: list(args),
        "a/b ü": lambda c: "odd name",
        "nothing": lambda c: None,
        "refuse": _refuse,
        "crash": _crash,
        "big": lambda c, size: "x" * size,
        "shout": _shout,
        "whoami": lambda c: c.conn.params,
        "kick": lambda c: c.conn.disconnect("go.away"),
        "sleep": lambda c: c.sleep(),
        "destroy": lambda c: c.destroy(),
    },
    on_before_connect=_check,
    options=ActorOptions(action_timeout=20),
)

registry = setup(use={"thing": thing})
