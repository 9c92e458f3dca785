"""What there is to see of a workflow while it works: steps that are in no journal yet."""

from __future__ import annotations

import asyncio
from typing import Any

from rivetpy import actor
from rivetpy.engine.inspector.shapes import summary_json
from rivetpy.host import Host
from rivetpy.workflow import Loop, WorkflowContext, workflow
from tests.support.hosting import make, with_host


def test_a_step_at_work_is_seen_before_it_is_recorded() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def held(step: Any) -> str:
        begun.set()
        await go_on.wait()
        return "done"

    async def run(ctx: WorkflowContext) -> None:
        await ctx.step("before", lambda step: 1)
        await ctx.step("held", held)

    async def script(host: Host) -> None:
        actor_id = await make(host)
        await begun.wait()
        seen = (await host.view(actor_id)).workflow
        assert seen is not None
        assert [(e.location, str(e.status)) for e in seen.entries] == [
            ("before", "completed"),
            ("held", "pending"),
        ]
        working = seen.entries[-1]
        assert (working.attempts, working.retry_at) == (1, None)  # type: ignore[attr-defined]
        go_on.set()
        while (seen := (await host.view(actor_id)).workflow) and seen.status != "completed":
            await asyncio.sleep(0.01)
        assert seen is not None and [str(e.status) for e in seen.entries] == ["completed", "completed"]

    with_host(actor(run=workflow(run)), script)


def test_a_summary_counts_no_iterations() -> None:
    async def one(loop: Any, done: int) -> Any:
        await loop.step("work", lambda step: done)
        return Loop.break_(done) if done else Loop.continue_(done + 1)

    async def run(ctx: WorkflowContext) -> None:
        await ctx.loop("main", one, state=0)

    async def script(host: Host) -> None:
        actor_id = await make(host)
        while summary_json(view := await host.view(actor_id))["workflowStatus"] != "completed":
            await asyncio.sleep(0.01)
        assert summary_json(view)["historySize"] == 3, "a loop, and two steps"

    with_host(actor(run=workflow(run)), script)
