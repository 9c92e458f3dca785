"""The actors that are measured; they call nobody."""

import asyncio
from pathlib import Path

from rivetpy import ActorOptions, actor, queue, setup
from rivetpy.workflow import workflow

STEPS = 1000
BRANCHES = 100


async def do_nothing(step, n):
    step.state["steps"] += 1
    return n


async def sequence(ctx):
    for n in range(ctx.input or STEPS):
        await ctx.step(f"step-{n}", do_nothing, n)


async def three(ctx):
    for n in range(3):
        await ctx.step(f"step-{n}", do_nothing, n)


async def branch(ctx):
    await ctx.step("step", do_nothing, 0)


async def joined(ctx):
    await ctx.join("join", {f"branch-{n}": branch for n in range(BRANCHES)})


async def hold(step, path):
    life = Path(path) / ("second" if (Path(path) / "first").exists() else "first")
    life.touch()
    await asyncio.sleep(0 if life.name == "second" else 3600)


async def held(ctx):
    """Many steps, then one that lasts until the engine is killed; the second life says that it came there again."""
    for n in range(STEPS):
        await ctx.step(f"step-{n}", do_nothing, n)
    await ctx.step("hold", hold, ctx.input, timeout=None)


async def add(step, delta):
    step.state["value"] += delta
    step.state["processed"] += 1


async def count_one(loop):
    message = await loop.queue.next("wait")
    await loop.step("add", add, message.body["delta"])


async def count(ctx):
    await ctx.loop("count", count_one)


def padded(input):
    """A state of about so many bytes."""
    return {"steps": 0, "padding": "x" * input["bytes"]}


async def few(ctx):
    for n in range(ctx.input["steps"]):
        await ctx.step(f"step-{n}", do_nothing, n)


actions = {"getState": lambda c: c.state}
registry = setup(
    use={
        "sequence": actor(state={"steps": 0}, run=workflow(sequence)),
        "three": actor(state={"steps": 0}, run=workflow(three)),
        "joined": actor(state={"steps": 0}, run=workflow(joined)),
        "held": actor(state={"steps": 0}, run=workflow(held)),
        "large": actor(create_state=lambda c, input: padded(input), run=workflow(few)),
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
