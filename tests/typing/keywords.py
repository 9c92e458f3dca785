"""Actors in keywords, as users write them with types."""

from __future__ import annotations

import datetime as dt

from rivetpy import ActorContext, ActorOptions, Registry, UserError, actor, queue, setup
from rivetpy.workflow import Loop, StepContext, StepExhaustedError, WorkflowContext, workflow


async def apply(step: StepContext, delta: int) -> int:
    step.state["value"] += delta
    await step.queue.send("counter", {"delta": 0})
    return int(step.state["value"])


def slow(step: StepContext, text: str) -> str:
    return text if not step.abort.is_set() else step.idempotency_key


async def iteration(loop: WorkflowContext, carried: int) -> object:
    message = await loop.queue.next("wait", names=["counter"], completable=True)
    value = await loop.step(
        "apply", apply, message.body["delta"], max_retries=5, timeout=dt.timedelta(minutes=1)
    )
    await message.complete({"value": value})
    if message.name == "control":
        return Loop.break_("told to")
    return Loop.continue_(carried + 1)


async def run(ctx: WorkflowContext) -> object:
    await ctx.sleep("rest", 0.5)
    await ctx.sleep_until("then", dt.datetime.now(dt.UTC))
    try:
        text: str = await ctx.step("slow", slow, "hello")
    except StepExhaustedError as error:
        ctx.log.warning("gave up: %s", error)
        text = ""
    batch = await ctx.queue.next_batch("some", count=10, timeout=5)
    reason = await ctx.loop("loop", iteration, state=0, history_prune_interval=5)
    return {"reason": reason, "text": text, "ids": [message.id for message in batch]}


def get_state(c: ActorContext) -> object:
    if c.state["value"] < 0:
        raise UserError("the value is below zero", code="negative", metadata={"value": c.state["value"]})
    return c.state


async def add(c: ActorContext, delta: int = 1) -> None:
    c.state["value"] += delta


counter = actor(
    state={"value": 0},
    queues={"counter": queue(), "control": queue()},
    run=workflow(run),
    actions={"getState": get_state, "add": add, "name_of": lambda c: c.name},
    options=ActorOptions(sleep_timeout=5, max_queue_size=10),
)
registry: Registry = setup(use={"counter": counter})
