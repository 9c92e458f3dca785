"""A corpus of workflow shapes, the sequential ones: what the replay and crash invariants are checked over."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from rivetpy import actor, queue
from rivetpy.actors import ActorDefinition
from rivetpy.workflow import (
    CriticalError,
    Loop,
    QueueTimeoutError,
    StepExhaustedError,
    WorkflowContext,
    workflow,
)


class Ran(list[str]):
    """What really ran: names, and the identities of the steps."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[str] = []


Build = Callable[[Ran], Callable[[WorkflowContext], Awaitable[Any]]]


@dataclass(frozen=True)
class Shape:
    """A workflow, what is sent to it, and what must come of it."""

    name: str
    build: Build
    #: (seconds before it, queue, body)
    sends: tuple[tuple[float, str, Any], ...] = ()
    output: Any = None
    status: str = "completed"
    state: dict[str, Any] = field(default_factory=lambda: {"sum": 0, "log": []})
    #: Whether running a part again comes to the same: not where a message of then meets another wait, or is sent again.
    repeatable: bool = True
    #: Names of entries whose value is another in every run.
    differs: frozenset[str] = frozenset()

    def define(self, ran: Ran) -> ActorDefinition:
        """The actor; ``ran`` gets a line for every real execution of a step."""
        return actor(
            state={"sum": 0, "log": []},
            queues={"work": queue(), "control": queue()},
            run=workflow(self.build(ran)),
        )


SHAPES: list[Shape] = []


def shape(**expected: Any) -> Callable[[Build], Build]:
    def add(build: Build) -> Build:
        SHAPES.append(Shape(build.__name__, build, **expected))
        return build

    return add


def body(ran: Ran, takes: float = 0.01) -> Callable[..., Awaitable[Any]]:
    """A step that says it ran, takes a while, and gives back what it got."""

    async def record(step: Any, name: str, value: Any = None) -> Any:
        ran.append(name)
        ran.keys.append(step.idempotency_key)
        await asyncio.sleep(takes)
        return value

    return record


async def add(step: Any, delta: int) -> int:
    await asyncio.sleep(0.01)
    step.state["sum"] += delta
    return int(step.state["sum"])


@shape(output=None)
def nothing(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> None:
        return None

    return run


@shape(output=[1, 2, 3])
def three_steps(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> list[int]:
        return [await ctx.step(f"s{i}", body(ran), f"s{i}", i) for i in (1, 2, 3)]

    return run


@shape(output=6, state={"sum": 6, "log": []})
def state_changes(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> Any:
        for i in (1, 2, 3):
            total = await ctx.step(f"add{i}", add, i)
        return total

    return run


@shape(output="thread")
def blocking_step(ran: Ran) -> Any:
    def blocks(step: Any) -> str:
        time.sleep(0.001)
        ran.append("blocks")
        return "thread"

    async def run(ctx: WorkflowContext) -> Any:
        return await ctx.step("blocks", blocks)

    return run


@shape(output=3)
def retried_step(ran: Ran) -> Any:
    async def flaky(step: Any) -> int:
        if step.attempt < 3:
            raise ValueError("not yet")
        ran.append("flaky")
        return 3

    async def run(ctx: WorkflowContext) -> Any:
        return await ctx.step("flaky", flaky, max_retries=5)

    return run


@shape(output="caught exhausted, then caught critical")
def failures_caught(ran: Ran) -> Any:
    async def broken(step: Any) -> None:
        raise ValueError("broken")

    async def critical(step: Any) -> None:
        raise CriticalError("final")

    async def run(ctx: WorkflowContext) -> str:
        said = []
        try:
            await ctx.step("broken", broken, max_retries=1)
        except StepExhaustedError:
            said.append("caught exhausted")
        try:
            await ctx.step("critical", critical)
        except Exception:
            said.append("caught critical")
        return ", then ".join(said)

    return run


@shape(status="failed")
def fails(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> None:
        await ctx.step("one", body(ran), "one")
        raise ValueError("the workflow itself fails")

    return run


@shape(output="timeout")
def timed_out(ran: Ran) -> Any:
    async def slow(step: Any) -> None:
        await asyncio.sleep(100)

    async def run(ctx: WorkflowContext) -> str:
        try:
            await ctx.step("slow", slow, timeout=1)
        except Exception as error:
            return str(getattr(error, "reason", error))
        return "no timeout"

    return run


@shape(output=["a", "b"])
def sleeps(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> list[str]:
        first = await ctx.step("a", body(ran), "a", "a")
        await ctx.sleep("short", 5)
        await ctx.sleep("none", 0)
        await ctx.sleep("long", 40 * 86400)
        return [first, await ctx.step("b", body(ran), "b", "b")]

    return run


@shape(output=10)
def stateful_loop(ran: Ran) -> Any:
    async def again(loop: WorkflowContext, total: int) -> Any:
        total = await loop.step("count", body(ran), f"count after {total}", total + 1)
        return Loop.break_(total) if total >= 10 else Loop.continue_(total)

    async def run(ctx: WorkflowContext) -> Any:
        return await ctx.loop("count", again, state=0, history_prune_interval=3, history_size=2)

    return run


@shape(output=6)
def nested_loops(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> Any:
        async def outer(o: WorkflowContext, i: int) -> Any:
            async def inner(n: WorkflowContext, j: int) -> Any:
                await n.step("work", body(ran), f"{i}.{j}")
                await n.sleep("pause", 0.05)
                return Loop.break_(j) if j == 2 else Loop.continue_(j + 1)

            await o.loop("inner", inner, state=1)
            return Loop.break_(i * 2) if i == 3 else Loop.continue_(i + 1)

        return await ctx.loop("outer", outer, state=1)

    return run


@shape(
    sends=((0, "work", 1), (0, "work", 2), (1, "work", 3), (1, "work", 0)),
    output="drained",
    state={"sum": 6, "log": []},
)
def counter(ran: Ran) -> Any:
    async def handle(loop: WorkflowContext) -> Any:
        message = await loop.queue.next("wait")
        if message.body == 0:
            return Loop.break_("drained")
        await loop.step("add", add, message.body)
        return None

    async def run(ctx: WorkflowContext) -> Any:
        return await ctx.loop("loop", handle)

    return run


@shape(
    sends=((0, "work", "a"), (0, "control", "pause"), (0.5, "work", "b"), (0.5, "control", "stop")),
    output=["work a", "control pause", "work b", "stop"],
)
def two_queues(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> Any:
        async def handle(loop: WorkflowContext, seen: list[str]) -> Any:
            message = await loop.queue.next("wait", names=["work", "control"])
            if message.body == "stop":
                return Loop.break_([*seen, "stop"])
            await loop.step("handle", body(ran), f"{message.name} {message.body}")
            return Loop.continue_([*seen, f"{message.name} {message.body}"])

        return await ctx.loop("loop", handle, state=[])

    return run


@shape(sends=((0, "work", "first"),), output=["first"])
def batch_with_timeout_in_a_loop(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> Any:
        await ctx.sleep("let it come", 10)

        async def handle(loop: WorkflowContext, seen: list[str]) -> Any:
            batch = await loop.queue.next_batch("batch", count=5, timeout=0.05)
            seen = seen + [message.body for message in batch]
            return Loop.continue_(seen) if batch else Loop.break_(seen)

        return await ctx.loop("loop", handle, state=[])

    return run


@shape(sends=((100, "work", "late"),), output=["timed out", "late"], repeatable=False)
def next_with_timeout(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> Any:
        said = []
        try:
            await ctx.queue.next("soon", timeout=1)
        except QueueTimeoutError:
            said.append("timed out")
        said.append((await ctx.queue.next("later")).body)
        return said

    return run


@shape(sends=((0, "work", 1), (0, "work", 2)), output=[1, 2])
def completable(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> Any:
        seen = []
        for name in ("first", "second"):
            message = await ctx.queue.next(name, completable=True)
            await ctx.step(f"do {name}", body(ran), name)
            await message.complete({"done": message.body})
            seen.append(message.body)
        return seen

    return run


@shape(output="sent by a step", repeatable=False)
def step_sends(ran: Ran) -> Any:
    async def post(step: Any) -> None:
        ran.append("post")
        await step.queue.send("work", "sent by a step")

    async def run(ctx: WorkflowContext) -> Any:
        await ctx.step("post", post)
        return (await ctx.queue.next("get")).body

    return run


@shape(output=[1, 2, 3])
def ephemeral_steps(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> Any:
        # Only a durable step is promised to run once; the first two may be forgotten together.
        values = [await ctx.step(f"e{i}", body(Ran()), f"e{i}", i, ephemeral=True) for i in (1, 2)]
        return [*values, await ctx.step("durable", body(ran), "durable", 3)]

    return run
