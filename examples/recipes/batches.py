"""When many small messages are cheaper to handle together: wait for one, let more come, take them all.

    rivet send events '{"page": "/"}'

Nothing is lost on the way: a message is in its queue until it is in the journal, and there until it is written.
"""

from rivetpy import actor, queue, setup
from rivetpy.workflow import workflow

MOST = 100
LINGER = 5  # seconds a first message waits for company


async def write(step, rows):
    # The batch is recorded already: if the engine dies in here, the same rows come again.
    step.state["batches"].append(len(rows))


async def drain(loop):
    first = await loop.queue.next("wait-first")
    await loop.sleep("linger", LINGER)
    more = await loop.queue.next_batch("take-more", count=MOST - 1, timeout=0)  # [] when nothing else came
    await loop.step("write", write, [message.body for message in (first, *more)])


async def run(ctx):
    await ctx.loop("drain", drain)


sink = actor(
    state={"batches": []},
    queues={"events": queue()},
    run=workflow(run),
    actions={"getState": lambda c: c.state},
)
registry = setup(use={"sink": sink})
