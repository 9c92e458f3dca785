"""The same actors with decorators and models: a decorated function keeps its own type."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel

from rivetpy import ActorContext, actor, event, queue, setup
from rivetpy.workflow import StepContext, WorkflowContext


@dataclass
class CounterState:
    value: int = 0


class Command(BaseModel):
    delta: int


counter = actor(
    state=CounterState, queues={"counter": queue(Command)}, events={"changed": event(int)}, db=True
)


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


@counter.hook
async def on_wake(c: ActorContext) -> None:
    c.broadcast("changed", c.state.value)
    await c.cron.set("daily", "0 7 * * *", "getState", timezone="Europe/Vienna")
    later: str = await c.schedule.after(5, "getState")
    kept: dict[str, object] = await c.kv.list(later)
    raw: dict[bytes, object] = await c.kv.list(b"")
    rows: list[dict[str, object]] = await c.db.execute("SELECT ?", len(kept) + len(raw))
    await c.client().counter.get_or_create("other").send("counter", {"delta": len(rows)})
    c.wait_until(on_wake(c))


async def use(step: StepContext) -> None:
    async with step.db.transaction():
        await step.db.execute("SELECT 1")
    await step.kv.put("a", 1)
    await step.schedule.cancel("id")
    step.broadcast("changed", step.vars)


loop = actor(queues={"work": queue(int)})


@loop.run_loop
async def work(c: ActorContext) -> None:
    async for message in c.queue.iter(completable=True):
        await message.complete(message.body)


registry = setup(use={"counter": counter})


async def still_themselves(ctx: WorkflowContext, c: ActorContext) -> int:
    """What decorators return is what they were given."""
    state = await get_state(c)
    return await run(ctx) + get_value(c) + state.value
