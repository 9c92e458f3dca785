"""When parts of a job can run at once, and the whole is done when all of them are.

    rivet send reports '{"cities": ["Oslo", "Lima", "Pune"]}'

The branches of a join run in one process: that is for work that waits. For parts that live on their own, for
days or by the thousand, see `parent_child.py`.
"""

from rivetpy import actor, queue, setup
from rivetpy.workflow import workflow


async def measure(step, city):
    return len(city) * 5  # ask the weather service of that city


async def publish(step, degrees):
    step.state["warmest"] = max(degrees, key=degrees.get)


def reading(city):
    """The branch of one city. Its steps are at `readings/Oslo/measure`, `readings/Lima/measure`, …"""

    async def branch(ctx):
        return await ctx.step("measure", measure, city)

    return branch


async def run(ctx):
    report = await ctx.queue.next("wait-report")
    degrees = await ctx.join("readings", {city: reading(city) for city in report.body["cities"]})
    await ctx.step("publish", publish, degrees)
    return degrees


weather = actor(
    state={"warmest": None},
    queues={"reports": queue()},
    run=workflow(run),
    actions={"getState": lambda c: c.state},
)
registry = setup(use={"weather": weather})
