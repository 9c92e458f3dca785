"""A workflow that counts: what control and the replay check are tried on."""

from __future__ import annotations

from typing import Any

from rivetpy.host import Host
from rivetpy.wire.bodies import QueueSend
from rivetpy.workflow import Loop
from tests.support.flows import world_of
from tests.support.world import World, until

#: The steps that really ran, by name; cleared before every test.
ran: list[str] = []
#: The names of steps that fail.
broken: set[str] = set()


async def note(step: Any, name: str, value: Any = None) -> Any:
    ran.append(name)
    if name in broken:
        raise ValueError(f"{name} is broken")
    return value


async def counting(ctx: Any) -> Any:
    """Five stateful iterations of two steps, between two more."""
    await ctx.step("first", note, "first")

    async def again(loop: Any, i: int) -> Any:
        message = await loop.queue.next("wait")
        await loop.step("handle", note, f"handle {message.body}")
        await loop.step("also", note, f"also {i}")
        return Loop.break_(i) if i == 5 else Loop.continue_(i + 1)

    result = await ctx.loop("loop", again, state=1)
    await ctx.step("last", note, "last")
    return result


async def five_messages(host: Host, actor_id: str) -> None:
    for number in range(1, 6):
        await host.send(actor_id, "work", QueueSend(number, idempotency_key=str(number)))
    await until(host, actor_id)


def counted() -> World:
    world = world_of(counting)
    world.live(five_messages)
    ran.clear()
    return world
