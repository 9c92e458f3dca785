"""The actors that are measured; they call nobody."""

from rivetpy import ActorOptions, actor, queue, setup
from rivetpy.workflow import workflow

STEPS = 1000


def nothing(step, n):
    step.state["steps"] += 1
    return n


async def do_nothing(step, n):
    return nothing(step, n)


async def sequence(ctx):
    for n in range(STEPS):
        await ctx.step(f"step-{n}", do_nothing, n)


async def three(ctx):
    for n in range(3):
        await ctx.step(f"step-{n}", do_nothing, n)


async def add(step, delta):
    step.state["value"] += delta
    step.state["processed"] += 1


async def count_one(loop):
    message = await loop.queue.next("wait")
    await loop.step("add", add, message.body["delta"])


async def count(ctx):
    await ctx.loop("count", count_one)


actions = {"getState": lambda c: c.state}
registry = setup(
    use={
        "sequence": actor(state={"steps": 0}, run=workflow(sequence)),
        "three": actor(state={"steps": 0}, run=workflow(three)),
        "counter": actor(
            state={"value": 0, "processed": 0},
            queues={"counter": queue()},
            run=workflow(count),
            actions=actions,
            options=ActorOptions(max_queue_size=10_000),
        ),
        "sleeper": actor(
            state={"value": 0},
            queues={"wake": queue()},
            run=workflow(count),
            actions=actions,
            options=ActorOptions(sleep_timeout=0.2),
        ),
    }
)
