"""When something elsewhere takes its time and can only be asked: poll, less and less often.

    rivet send exports '{"report": "2026"}'

Retries are for a question that failed. "Not ready yet" is an answer, so it is a loop with a sleep.
"""

from datetime import timedelta

from rivetpy import actor, queue, setup
from rivetpy.workflow import Loop, workflow

SHORTEST = timedelta(seconds=1).total_seconds()
LONGEST = timedelta(minutes=5).total_seconds()


async def start_export(step, order):
    # Cut off, this step runs again: step.idempotency_key tells the service that it is the same order.
    step.state["export"] = f"export-{order['report']}"
    return step.state["export"]


async def ask(step, export):
    step.state["asked"] += 1
    return f"{export}.csv" if step.state["asked"] > 10 else None  # ask the service


async def poll(loop, carried):
    url = await loop.step("ask", ask, carried["export"])
    if url is not None:
        return Loop.break_(url)
    await loop.sleep("pause", carried["pause"])
    return Loop.continue_({**carried, "pause": min(2 * carried["pause"], LONGEST)})


async def run(ctx):
    order = await ctx.queue.next("wait-order")
    export = await ctx.step("start", start_export, order.body)
    return await ctx.loop("poll", poll, state={"export": export, "pause": SHORTEST})


export = actor(
    state={"export": None, "asked": 0},
    queues={"exports": queue()},
    run=workflow(run),
    actions={"getState": lambda c: c.state},
)
registry = setup(use={"export": export})
