"""When code changes under workflows that still run: old ones finish as they began, new ones take the new way.

    rivet send orders '{"item": "teapot"}'

Version 1 packed an order and shipped it. Version 2 has it checked in between; orders that were packed before
the change are not checked. `rivet replay --all` tells whether the code fits everything that runs. When no order
of version 1 is left, `ctx.removed("checked-parcels", "version")` takes the place of the gate.
"""

from datetime import timedelta

from rivetpy import actor, queue, setup
from rivetpy.workflow import workflow


async def pack(step, item):
    step.state["done"].append(f"packed {item}")


async def check(step, item):
    step.state["done"].append(f"checked {item}")


async def ship(step, item):
    step.state["done"].append(f"shipped {item}")


async def handle(loop):
    order = await loop.queue.next("wait-order")
    item = order.body["item"]
    await loop.step("pack", pack, item)
    # Stands where the new code comes. Each iteration has its own answer: the next order gets version 2.
    if await loop.get_version("checked-parcels", 2) >= 2:
        await loop.step("check", check, item)
    await loop.sleep("courier", timedelta(hours=8))
    await loop.step("ship", ship, item)


async def run(ctx):
    await ctx.loop("orders", handle)


warehouse = actor(
    state={"done": []},
    queues={"orders": queue()},
    run=workflow(run),
    actions={"getState": lambda c: c.state},
)
registry = setup(use={"warehouse": warehouse})
