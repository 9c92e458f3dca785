"""The same actors with decorators and models: a decorated function keeps its own type."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel

from rivetpy import ActorContext, actor, queue, setup
from rivetpy.workflow import StepContext, WorkflowContext


@dataclass
class CounterState:
    value: int = 0


class Command(BaseModel):
    delta: int


counter = actor(state=CounterState, queues={"counter": queue(Command)})


async def apply(step: StepContext, delta: int) -> None:
    step.state.value += delta


@counter.workflow
async def run(ctx: WorkflowContext) -> int:
    message = await ctx.queue.next("wait", timeout=60)
    await ctx.step("apply", apply, message.body["delta"])
    return 1


@counter.action
def get_value(c: ActorContext) -> int:
    return int(c.state.value)


@counter.action(name="getState")
async def get_state(c: ActorContext) -> CounterState:
    state: CounterState = c.state
    return state


registry = setup(use={"counter": counter})


async def still_themselves(ctx: WorkflowContext, c: ActorContext) -> int:
    """What decorators return is what they were given."""
    state = await get_state(c)
    return await run(ctx) + get_value(c) + state.value
