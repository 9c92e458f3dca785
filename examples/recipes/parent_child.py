"""When the parts of a job need a life of their own: a parent starts child actors and collects their answers.

    rivet send jobs '{"pages": ["home", "about", "shop"]}'

Every page is an actor, with its own journal, retries and history. Parent and child talk through queues, so
either may sleep, or take days, while the other one works.
"""

from rivetpy import actor, queue, setup
from rivetpy.client import create_client
from rivetpy.workflow import Loop, workflow


async def send(step, actor_name, key, queue_name, body):
    async with create_client() as client:  # the engine at RIVET_ENDPOINT, else http://localhost:6420
        handle = client.actor(actor_name).get_or_create(key)
        # This step may be cut off after it sent and run again. With the same key the engine enqueues once.
        await handle.send(queue_name, body, idempotency_key=step.idempotency_key)


# -- the parent


async def collect(loop, results):
    message = await loop.queue.next("wait-result", names=["results"])
    results[message.body["page"]] = message.body["words"]
    return Loop.continue_(results) if None in results.values() else Loop.break_(results)


async def report(step, results):
    step.state["words"] = sum(results.values())


async def run_parent(ctx):
    job = await ctx.queue.next("wait-job", names=["jobs"])
    pages = job.body["pages"]
    for page in pages:
        order = {"page": page, "parent": ctx.key}
        await ctx.step(f"start-{page}", send, "page", [*ctx.key, page], "orders", order)
    results = await ctx.loop("collect", collect, state=dict.fromkeys(pages))
    await ctx.step("report", report, results)
    return results


# -- the child


async def count_words(step, page):
    return len(page)  # fetch the page and count


async def run_child(ctx):
    order = (await ctx.queue.next("wait-order")).body
    words = await ctx.step("count", count_words, order["page"])
    result = {"page": order["page"], "words": words}
    await ctx.step("answer", send, "site", order["parent"], "results", result)


site = actor(
    state={"words": None},
    queues={"jobs": queue(), "results": queue()},
    run=workflow(run_parent),
    actions={"getState": lambda c: c.state},
)
page = actor(queues={"orders": queue()}, run=workflow(run_child))
registry = setup(use={"site": site, "page": page})
