"""When a caller wants an answer: it sends a message and waits until the workflow has completed it.

    rivet send questions '{"net": 450}' --wait

A failure is an answer too: `try_step` keeps one bad question from ending the whole workflow.
"""

from rivetpy import actor, queue, setup
from rivetpy.workflow import CriticalError, Failed, Ok, workflow


async def quote(step, question):
    if not isinstance(question, dict) or question.get("net", 0) <= 0:
        raise CriticalError("net is a number of cents above 0")
    return {"gross": round(question["net"] * 1.2)}


async def answer(loop):
    # Completable: the question stays in the queue until it is answered, whatever happens in between.
    question = await loop.queue.next("wait-question", completable=True)
    match await loop.try_step("quote", quote, question.body):
        case Ok(offer):
            await question.complete(offer)
        case Failed(failure):
            await question.complete({"error": failure.error.message})


async def run(ctx):
    await ctx.loop("answer", answer)


quotes = actor(queues={"questions": queue()}, run=workflow(run))
registry = setup(use={"quotes": quotes})
