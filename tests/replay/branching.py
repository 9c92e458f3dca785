"""The corpus's shapes with branches, caught failures, rollbacks and versions."""

from __future__ import annotations

import asyncio
from typing import Any

from rivetpy.workflow import (
    CriticalError,
    Failed,
    JoinError,
    Loop,
    Ok,
    RaceError,
    RollbackError,
    WorkflowContext,
)
from tests.replay.shapes import Ran, add, body, shape

# -- branches --------------------------------------------------------------------------------------------


async def raises(step: Any) -> None:
    raise ValueError("broken")


@shape(output={"a": "A", "b": "B", "c": ["C1", "C2"]})
def joined(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> Any:
        async def a(branch: WorkflowContext) -> Any:
            return await branch.step("work", body(ran, 0.03), "a", "A")

        async def b(branch: WorkflowContext) -> Any:
            await branch.sleep("nap", 5)
            return await branch.step("work", body(ran, 0.01), "b", "B")

        async def c(branch: WorkflowContext) -> Any:
            one = await branch.step("one", body(ran, 0.02), "c1", "C1")
            return [one, await branch.step("two", body(ran, 0.05), "c2", "C2")]

        return await ctx.join("all", {"a": a, "b": b, "c": c})

    return run


@shape(output="good finished; bad: StepExhaustedError, worse: ValueError")
def join_with_failures(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> Any:
        async def good(branch: WorkflowContext) -> Any:
            await branch.step("work", body(ran, 1), "good")

        async def bad(branch: WorkflowContext) -> Any:
            await branch.step("broken", raises, max_retries=1)

        def worse(branch: WorkflowContext) -> Any:
            raise ValueError("at once")

        try:
            await ctx.join("all", {"good": good, "bad": bad, "worse": worse})
        except JoinError as error:
            failed = ", ".join(f"{name}: {failure.type}" for name, failure in error.errors.items())
            return f"good finished; {failed}"

    return run


@shape(output=["timeout", "too slow"])
def race_with_a_timer(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> Any:
        async def work(branch: WorkflowContext) -> Any:
            await branch.step("quick", body(Ran(), 0.01), "quick")
            await branch.step("slow", body(Ran(), 1000), "slow", timeout=None)

        async def timer(branch: WorkflowContext) -> Any:
            await branch.sleep("limit", 20)
            return "too slow"

        winner, value = await ctx.race("first", {"work": work, "timeout": timer})
        await ctx.step("after", body(ran), "after")
        return [winner, value]

    return run


@shape(sends=((1, "work", "approved"),), output=["answer", "approved"])
def race_for_a_message(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> Any:
        async def answer(branch: WorkflowContext) -> Any:
            message = await branch.queue.next("approval", names=["work"])
            return await branch.step("note", body(ran), "note", message.body)

        async def timer(branch: WorkflowContext) -> Any:
            await branch.sleep("a week", 7 * 86400)

        return await ctx.race("first", {"answer": answer, "timeout": timer})

    return run


@shape(output="nobody won: a ValueError, b StepCriticalError")
def race_without_a_winner(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> Any:
        async def a(branch: WorkflowContext) -> Any:
            await branch.step("work", body(ran), "a")
            raise ValueError("a")

        async def b(branch: WorkflowContext) -> Any:
            async def critical(step: Any) -> None:
                raise CriticalError("b")

            await branch.step("critical", critical)

        try:
            await ctx.race("first", {"a": a, "b": b})
        except RaceError as error:
            return "nobody won: " + ", ".join(f"{name} {f.type}" for name, f in error.errors.items())

    return run


@shape(output={"left": {"x": [0, 1, 2], "y": "Y"}, "right": ["quick", "Q"]})
def nested_branches(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> Any:
        async def x(branch: WorkflowContext) -> Any:
            async def again(loop: WorkflowContext, seen: list[int]) -> Any:
                seen = [*seen, await loop.step("count", body(ran), f"x{len(seen)}", len(seen))]
                await loop.sleep("pause", 1)
                return Loop.break_(seen) if len(seen) == 3 else Loop.continue_(seen)

            return await branch.loop("l", again, state=[])

        async def y(branch: WorkflowContext) -> Any:
            await branch.sleep("nap", 1.5)
            return await branch.step("work", body(ran), "y", "Y")

        async def left(branch: WorkflowContext) -> Any:
            return await branch.join("inner", {"x": x, "y": y})

        async def right(branch: WorkflowContext) -> Any:
            async def quick(b: WorkflowContext) -> Any:
                return await b.step("work", body(ran), "q", "Q")

            async def never(b: WorkflowContext) -> Any:
                async def forever(n: WorkflowContext) -> Any:
                    await n.sleep("long", 1e6)

                return await b.join("deep", {"one": forever, "two": forever})

            return await branch.race("r", {"never": never, "quick": quick})

        return await ctx.join("outer", {"left": left, "right": right})

    return run


@shape(
    sends=((0, "work", 1), (0, "work", 2), (0.5, "control", "stop")),
    output={"worker": [1, 2], "watcher": "stop"},
)
def consumers_in_branches(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> Any:
        await ctx.sleep("let them come", 3)

        async def worker(branch: WorkflowContext) -> Any:
            return [(await branch.queue.next(f"m{i}", names=["work"])).body for i in range(2)]

        async def watcher(branch: WorkflowContext) -> Any:
            message = await branch.queue.next("control", names=["control"], completable=True)
            await message.complete()
            return message.body

        return await ctx.join("both", {"worker": worker, "watcher": watcher})

    return run


# -- failures as values ----------------------------------------------------------------------------------


@shape(output=["ok 1", "exhausted broken", "critical final", "timeout slow"])
def tried_steps(ran: Ran) -> Any:
    async def critical(step: Any) -> None:
        raise CriticalError("final")

    async def slow(step: Any) -> None:
        await asyncio.sleep(100)

    def told(result: Any) -> str:
        match result:
            case Ok(value):
                return f"ok {value}"
            case Failed(failure):
                return f"{failure.kind} {failure.step_name}"
        return "?"

    async def run(ctx: WorkflowContext) -> Any:
        return [
            told(await ctx.try_step("fine", body(ran), "fine", 1)),
            told(await ctx.try_step("broken", raises, max_retries=2)),
            told(await ctx.try_step("final", critical)),
            told(await ctx.try_step("slow", slow, timeout=1)),
        ]

    return run


@shape(output=["ok [1, 2]", "step StepExhaustedError", "join JoinError", "block ValueError"])
def tried_blocks(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> Any:
        async def fine(block: WorkflowContext) -> Any:
            return [await block.step(f"s{i}", body(ran), f"s{i}", i) for i in (1, 2)]

        async def step_fails(block: WorkflowContext) -> Any:
            await block.step("good", body(ran), "good")
            await block.step("bad", raises, max_retries=0)

        async def join_fails(block: WorkflowContext) -> Any:
            await block.join("j", {"bad": step_fails_in_branch})

        async def step_fails_in_branch(branch: WorkflowContext) -> Any:
            await branch.step("bad", raises, max_retries=0)

        def own_mistake(block: WorkflowContext) -> Any:
            raise ValueError("own")

        said = []
        for name, block in [("fine", fine), ("step", step_fails), ("join", join_fails), ("own", own_mistake)]:
            match await ctx.try_block(name, block, catch=("step", "join", "race", "block")):
                case Ok(value):
                    said.append(f"ok {value}")
                case Failed(failure):
                    said.append(f"{failure.source} {failure.error.type}")
        return said

    return run


# -- rollback, versions, recorded values -----------------------------------------------------------------


@shape(status="failed", state={"sum": 0, "log": ["do a", "do b", "undo b", "undo a"]})
def rolled_back(ran: Ran) -> Any:
    async def do(step: Any, name: str) -> str:
        step.state["log"].append(f"do {name}")
        return name

    async def undo(step: Any, output: str) -> None:
        ran.append(f"undo {output}")
        step.state["log"].append(f"undo {output}")

    async def fail(step: Any) -> None:
        raise RollbackError("enough")

    async def run(ctx: WorkflowContext) -> None:
        await ctx.rollback_checkpoint("from here")
        await ctx.step("a", do, "a", rollback=undo)
        await ctx.step("b", do, "b", rollback=undo)
        await ctx.step("fail", fail)

    return run


@shape(status="failed", state={"sum": 6, "log": [3, 2, 1]})
def rolled_back_in_a_loop(ran: Ran) -> Any:
    async def undo(step: Any, total: int) -> None:
        ran.append(f"undo {total}")
        step.state["log"].append((len(step.state["log"]) and step.state["log"][-1] - 1) or 3)

    async def run(ctx: WorkflowContext) -> None:
        await ctx.rollback_checkpoint("from here")

        async def again(loop: WorkflowContext, i: int) -> Any:
            await loop.step("add", add, i, rollback=undo)
            await loop.sleep("nap", 1)
            if i == 3:
                raise ValueError("enough")
            return Loop.continue_(i + 1)

        await ctx.loop("l", again, state=1)

    return run


@shape(output=[2, 2, 1.0], differs=frozenset({"began", "number", "unique"}))
def versions_and_recorded_values(ran: Ran) -> Any:
    async def run(ctx: WorkflowContext) -> Any:
        first = await ctx.get_version("gate", 2)
        began, number, unique = await ctx.now("began"), await ctx.random("number"), await ctx.uuid("unique")
        await ctx.removed("gone", "step")
        await ctx.step("mark", body(ran), "mark")
        await ctx.sleep("nap", 100)
        await ctx.step("after", body(ran), "after")
        again = (began, number, unique)
        same = 1.0 if all(value == value for value in again) and 0 <= number < 1 else 0.0
        return [first, await ctx.get_version("late gate", 2), same]

    return run
