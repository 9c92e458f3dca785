"""When a person has to say yes within a time, and silence is a decision as well.

    rivet send requests amount:=1200
    rivet send decisions '{"approved": true, "by": "Ada"}'

Where nothing else happens meanwhile, `ctx.queue.next_batch("…", timeout=…)` says the same in one line; a race
also takes branches of many steps.
"""

from datetime import timedelta

from rivetpy import actor, queue, setup
from rivetpy.workflow import workflow


async def ask(step, request):
    step.state.update(request=request, status="asked")  # and write to whoever decides


async def person(branch):
    message = await branch.queue.next("wait-decision", names=["decisions"])
    return message.body


async def clock(branch):
    await branch.sleep("limit", timedelta(days=3))
    return {"approved": False, "by": "nobody"}


async def carry_out(step, decision):
    step.state.update(status="approved" if decision["approved"] else "refused", by=decision["by"])


async def run(ctx):
    request = await ctx.queue.next("wait-request", names=["requests"])
    await ctx.step("ask", ask, request.body)
    # The first branch to complete wins; the other one is cancelled. Three days survive any restart.
    _, decision = await ctx.race("decide", {"person": person, "clock": clock})
    await ctx.step("carry-out", carry_out, decision)
    return decision


approval = actor(
    state={"request": None, "status": "new", "by": None},
    queues={"requests": queue(), "decisions": queue()},
    run=workflow(run),
    actions={"getState": lambda c: c.state},
)
registry = setup(use={"approval": approval})
