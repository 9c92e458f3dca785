"""A counter that applies commands from its queue, one after the other, through a remote service."""

from dataclasses import dataclass

from remote import connect

from rivetpy import actor, queue
from rivetpy.workflow import workflow


@dataclass
class Command:
    """What fits the queue; anything else is refused where it is sent."""

    delta: float


async def apply_counter_command(step, delta):
    async with connect() as http:
        # A step that was cut off before it was recorded runs again. The key stays the same, so the service
        # can tell a repeat from a new request and does the work once.
        reply = await http.post(
            "/counter/apply",
            json={"value": step.state["value"], "delta": delta},
            headers={"Idempotency-Key": step.idempotency_key},
        )
    result = reply.raise_for_status().json()
    step.state["value"] = result["nextValue"]
    step.state["lastOperationId"] = result["operationId"]
    step.state["processed"] += 1


async def counter_loop(loop):
    message = await loop.queue.next("wait-counter-command")
    await loop.step("apply-counter-command", apply_counter_command, message.body["delta"])


async def run(ctx):
    await ctx.loop("counter-loop", counter_loop)


workflow_counter = actor(
    state={"value": 0, "processed": 0, "lastOperationId": None},
    queues={"counter": queue(Command)},
    run=workflow(run),
    actions={"getState": lambda c: c.state},
)
