"""Random workflows as data: each node runs as verbs, and says in plain Python what must come of it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from rivetpy.workflow import CriticalError, Failed, Loop, Ok, WorkflowContext

#: Whether an output is one that may be.
Pattern = Callable[[Any], bool]
QUEUES = ("work", "control")
#: Crashes count as attempts: with so many they decide nothing.
RETRIES = 10_000


@dataclass
class Notes:
    """What happened while a workflow ran, over all its lives."""

    #: 1, or 2 once the code was changed.
    code: int = 1
    #: The identities of the steps and rollback handlers that were begun, in order.
    begun: list[str] = field(default_factory=list)
    #: Where the body of each message was received, outside of races.
    received: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    #: Bodies that a branch of a race began to complete.
    answered: set[int] = field(default_factory=set)
    #: Whether steps are to be undone.
    undo: bool = False


class Fails(Exception):
    """In the model: the node raises an error of this type."""


@dataclass
class Model:
    """What a run comes to."""

    undo: bool
    #: What the steps that are never undone added to the state.
    total: int = 0


def exactly(value: Any) -> Pattern:
    return lambda output: bool(output == value)


def one_of(*patterns: Pattern) -> Pattern:
    return lambda output: any(pattern(output) for pattern in patterns)


def sequence(patterns: list[Pattern]) -> Pattern:
    return lambda output: (
        isinstance(output, list)
        and len(output) == len(patterns)
        and all(pattern(each) for pattern, each in zip(patterns, output, strict=True))
    )


class Node:
    """A part of a plan. ``name`` is unique in its scope, ``path`` in the workflow."""

    async def run(self, ctx: WorkflowContext, name: str, path: str, notes: Notes) -> Any:
        raise NotImplementedError

    def expect(self, model: Model) -> Pattern:
        raise NotImplementedError


@dataclass(frozen=True)
class Step(Node):
    """Fails so many times, then adds to the state."""

    failures: int = 0
    delta: int = 0
    takes: float = 0.01
    ephemeral: bool = False

    async def run(self, ctx: WorkflowContext, name: str, path: str, notes: Notes) -> Any:
        async def body(step: Any) -> int:
            notes.begun.append(step.idempotency_key)
            await asyncio.sleep(self.takes)
            if step.attempt <= self.failures:
                raise ValueError("not yet")
            if self.delta:
                step.state["n"] += self.delta
            return self.delta

        async def undo(step: Any, delta: int) -> None:
            notes.begun.append(step.idempotency_key)
            await asyncio.sleep(self.takes)
            step.state["n"] -= delta

        return await ctx.step(
            name,
            body,
            max_retries=RETRIES,
            ephemeral=self.ephemeral and not self.delta,
            rollback=undo if notes.undo and self.delta else None,
        )

    def expect(self, model: Model) -> Pattern:
        if not model.undo:
            model.total += self.delta
        return exactly(self.delta)


@dataclass(frozen=True)
class Fail(Node):
    """Raises: in a step that must not be retried, or between verbs."""

    in_a_step: bool

    async def run(self, ctx: WorkflowContext, name: str, path: str, notes: Notes) -> Any:
        async def body(step: Any) -> None:
            raise CriticalError("enough")

        if self.in_a_step:
            await ctx.step(name, body, max_retries=RETRIES)
        raise ValueError("enough")

    def expect(self, model: Model) -> Pattern:
        raise Fails("StepCriticalError" if self.in_a_step else "ValueError")


@dataclass(frozen=True)
class TryStep(Node):
    """A step that fails, or not, as a value."""

    fails: bool

    async def run(self, ctx: WorkflowContext, name: str, path: str, notes: Notes) -> Any:
        async def body(step: Any) -> str:
            notes.begun.append(step.idempotency_key)
            if self.fails:
                raise CriticalError("enough")
            return "fine"

        match await ctx.try_step(name, body, max_retries=RETRIES):
            case Ok(value):
                return value
            case Failed(failure):
                return failure.kind

    def expect(self, model: Model) -> Pattern:
        return exactly("critical" if self.fails else "fine")


@dataclass(frozen=True)
class Sleep(Node):
    seconds: float

    async def run(self, ctx: WorkflowContext, name: str, path: str, notes: Notes) -> Any:
        await ctx.sleep(name, self.seconds)

    def expect(self, model: Model) -> Pattern:
        return exactly(None)


@dataclass(frozen=True)
class Receive(Node):
    """Waits for a message; ``raced``: in a branch that may lose, where only its last node is a wait."""

    queues: tuple[str, ...] | None
    completable: bool
    timeout: float | None = None
    raced: bool = False

    async def run(self, ctx: WorkflowContext, name: str, path: str, notes: Notes) -> Any:
        messages = await ctx.queue.next_batch(
            name, self.queues, count=1, timeout=self.timeout, completable=self.completable
        )
        for message in messages:
            if not self.raced:
                notes.received[message.body].add(path)
            elif self.completable:
                notes.answered.add(message.body)
            if self.completable:
                await message.complete(message.body)
        return [["message", message.body] for message in messages]

    def expect(self, model: Model) -> Pattern:
        one: Pattern = lambda output: len(output) == 1 and output[0][0] == "message"  # noqa: E731
        return one if self.timeout is None else one_of(one, exactly([]))


@dataclass(frozen=True)
class Recorded(Node):
    verb: str

    async def run(self, ctx: WorkflowContext, name: str, path: str, notes: Notes) -> Any:
        return str(await getattr(ctx, self.verb)(name))

    def expect(self, model: Model) -> Pattern:
        return lambda output: isinstance(output, str)


@dataclass(frozen=True)
class Changed(Node):
    """Code that is another in the second version, behind a gate."""

    async def run(self, ctx: WorkflowContext, name: str, path: str, notes: Notes) -> Any:
        async def body(step: Any, value: str) -> str:
            notes.begun.append(step.idempotency_key)
            return value

        version = 1 if notes.code == 1 else await ctx.get_version(name, 2)
        return await ctx.step(f"{name} {version}", body, f"changed {version}", max_retries=RETRIES)

    def expect(self, model: Model) -> Pattern:
        return one_of(exactly("changed 1"), exactly("changed 2"))


@dataclass(frozen=True)
class Dropped(Node):
    """Code that is no more in the second version."""

    async def run(self, ctx: WorkflowContext, name: str, path: str, notes: Notes) -> Any:
        if notes.code == 1:
            await ctx.sleep(name, 1)
        else:
            await ctx.removed(name, "sleep")

    def expect(self, model: Model) -> Pattern:
        return exactly(None)


@dataclass(frozen=True)
class Block(Node):
    plan: Plan

    async def run(self, ctx: WorkflowContext, name: str, path: str, notes: Notes) -> Any:
        every = ("step", "join", "race", "block")
        match await ctx.try_block(name, lambda inner: self.plan.run(inner, path, notes), catch=every):
            case Ok(value):
                return ["ok", value]
            case Failed(failure):
                return ["failed", failure.error.type]

    def expect(self, model: Model) -> Pattern:
        try:
            return sequence([exactly("ok"), self.plan.expect(model)])
        except Fails as failure:
            return exactly(["failed", str(failure)])


@dataclass(frozen=True)
class Looped(Node):
    """A loop that carries the results of its iterations."""

    plan: Plan
    times: int
    interval: int
    keep: int

    async def run(self, ctx: WorkflowContext, name: str, path: str, notes: Notes) -> Any:
        async def again(loop: WorkflowContext, results: list[Any]) -> Any:
            results = [*results, await self.plan.run(loop, f"{path}~{len(results)}", notes)]
            return Loop.break_(results) if len(results) == self.times else Loop.continue_(results)

        keep = 1000 if notes.undo else self.keep
        return await ctx.loop(name, again, state=[], history_prune_interval=self.interval, history_size=keep)

    def expect(self, model: Model) -> Pattern:
        return sequence([self.plan.expect(model) for _ in range(self.times)])


@dataclass(frozen=True)
class Join(Node):
    branches: tuple[Plan, ...]

    async def run(self, ctx: WorkflowContext, name: str, path: str, notes: Notes) -> Any:
        results = await ctx.join(name, _branches(self.branches, path, notes))
        return [results[branch] for branch in sorted(results)]

    def expect(self, model: Model) -> Pattern:
        patterns, failed = [], False
        for plan in self.branches:
            try:
                patterns.append(plan.expect(model))
            except Fails:
                failed = True
        if failed:
            raise Fails("JoinError")
        return sequence(patterns)


@dataclass(frozen=True)
class Race(Node):
    """``raced``: in a branch of another race."""

    branches: tuple[Plan, ...]
    raced: bool = False

    async def run(self, ctx: WorkflowContext, name: str, path: str, notes: Notes) -> Any:
        winner, value = await ctx.race(name, _branches(self.branches, path, notes))
        for body in () if self.raced else bodies(value):
            notes.received[body].add(path)
        return [winner, value]

    def expect(self, model: Model) -> Pattern:
        patterns = []
        for number, plan in enumerate(self.branches):
            try:
                patterns.append(sequence([exactly(f"b{number}"), plan.expect(model)]))
            except Fails:
                continue
        if not patterns:
            raise Fails("RaceError")
        return one_of(*patterns)


@dataclass(frozen=True)
class Plan:
    """Nodes one after another in one scope."""

    nodes: tuple[Node, ...]

    async def run(self, ctx: WorkflowContext, path: str, notes: Notes) -> list[Any]:
        return [
            await node.run(ctx, f"{number} {type(node).__name__}", f"{path}/{number}", notes)
            for number, node in enumerate(self.nodes)
        ]

    def expect(self, model: Model) -> Pattern:
        return sequence([node.expect(model) for node in self.nodes])


def bodies(output: Any) -> Iterator[int]:
    """The bodies of the messages in an output."""
    if isinstance(output, list):
        if len(output) == 2 and output[0] == "message":
            yield output[1]
        else:
            for each in output:
                yield from bodies(each)


def _branches(plans: tuple[Plan, ...], path: str, notes: Notes) -> dict[str, Any]:
    return {
        f"b{number}": lambda inner, number=number, plan=plan: plan.run(inner, f"{path}.{number}", notes)
        for number, plan in enumerate(plans)
    }


# -- how they are made -----------------------------------------------------------------------------------

_seconds = st.sampled_from([0, 0.01, 1, 5, 40, 500])
_queues = st.sampled_from([None, ("work",), ("control",), QUEUES])


def _steps(deltas: st.SearchStrategy[int]) -> st.SearchStrategy[Step]:
    return st.builds(
        Step,
        failures=st.sampled_from([0, 0, 0, 1, 3]),
        delta=deltas,
        takes=st.sampled_from([0, 0.01, 3]),
        ephemeral=st.booleans(),
    )


def _receives(raced: bool) -> st.SearchStrategy[Receive]:
    timeouts = st.sampled_from([None, 0, 2, 40])
    return st.builds(Receive, _queues, st.booleans(), timeouts, st.just(raced))


def _quiet(deltas: st.SearchStrategy[int]) -> st.SearchStrategy[Node]:
    """What may be anywhere."""
    return st.one_of(
        _steps(deltas),
        _steps(deltas),
        st.builds(Sleep, _seconds),
        st.builds(TryStep, st.booleans()),
        st.builds(Recorded, st.sampled_from(["now", "random", "uuid"])),
        st.just(Changed()),
        st.just(Dropped()),
    )


def _plan(nodes: st.SearchStrategy[Node], most: int = 3) -> st.SearchStrategy[Plan]:
    """Some nodes; now and then the last one fails."""
    ends = st.one_of(
        st.just(()), st.just(()), st.just(()), st.builds(Fail, st.booleans()).map(lambda f: (f,))
    )
    return st.builds(lambda some, end: Plan((*some, *end)), st.lists(nodes, min_size=1, max_size=most), ends)


def _nested(inner: st.SearchStrategy[Node], *, most: int = 3) -> st.SearchStrategy[Node]:
    plan, branches = _plan(inner), st.lists(_plan(inner, 2), min_size=1, max_size=most).map(tuple)
    return st.one_of(
        st.builds(Block, plan),
        st.builds(Looped, plan, st.integers(1, 4), st.integers(1, 3), st.integers(0, 3)),
        st.builds(Join, branches),
    )


def _raced() -> st.SearchStrategy[Race]:
    """Branches that may lose leave no trace: no state, and a message only at their end."""
    quiet = _quiet(st.just(0))
    nodes = st.one_of(quiet, _nested(quiet, most=2))
    branch = st.builds(
        lambda plan, wait: (
            plan if plan.nodes and isinstance(plan.nodes[-1], Fail) else Plan(plan.nodes + wait)
        ),
        _plan(nodes, 2),
        st.one_of(st.just(()), _receives(True).map(lambda wait: (wait,))),
    )
    inner = st.builds(Race, st.lists(branch, min_size=1, max_size=2).map(tuple), st.just(True))
    nested = st.builds(lambda race: Plan((race,)), inner)
    return st.builds(Race, st.lists(branch | nested, min_size=1, max_size=3).map(tuple))


_leaves = st.one_of(_quiet(st.integers(0, 9)), _receives(False))
_nodes = st.recursive(st.one_of(_leaves, _raced()), _nested, max_leaves=8)
plans = _plan(_nodes, 4)
