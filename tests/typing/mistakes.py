"""Mistakes that a type checker has to find: an ignore that is not needed fails the check."""

from __future__ import annotations

from rivetpy import ActorOptions, actor, queue, setup
from rivetpy.workflow import StepContext, WorkflowContext, workflow


def body(step: StepContext) -> None: ...


def not_async(ctx: WorkflowContext) -> int:
    return 1


async def run(ctx: WorkflowContext) -> None:
    await ctx.step(1, body)  # type: ignore[arg-type]
    await ctx.step("no function")  # type: ignore[call-arg]
    await ctx.step("name", body, max_retry=1)  # type: ignore[call-arg]
    await ctx.sleep("name", "1 s")  # type: ignore[arg-type]
    await ctx.queue.next_batch("name", count="ten")  # type: ignore[arg-type]


workflow(not_async)  # type: ignore[arg-type]
actor(queues={"counter": dict}, options={"sleep_timeout": 1})  # type: ignore[dict-item, arg-type]
actor(run=not_async)  # type: ignore[arg-type]
actor(on_waek=run)  # type: ignore[call-arg]
ActorOptions(sleep_timeuot=1)  # type: ignore[call-arg]
setup(use={"counter": queue()})  # type: ignore[dict-item]
