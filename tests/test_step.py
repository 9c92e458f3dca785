"""step: attempts, failures, values and the step context (spec workflows 3)."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from rivetpy import UserError, codec
from rivetpy.workflow import (
    CriticalError,
    StepCriticalError,
    StepError,
    StepExhaustedError,
    WorkflowUsageError,
)
from rivetpy.workflow import scope as scopes
from rivetpy.workflow.entries import StepEntry
from rivetpy.workflow.step import backoff_ms
from tests.support.flows import ended, reason_of, to_the_end, world_of
from tests.support.world import Died


def entry_of(world: Any, location: str) -> StepEntry:
    return next(e for e in world.journal() if e.location == location)


# -- retries ---------------------------------------------------------------------------------------------


def test_attempts_follow_the_backoff_from_each_start() -> None:
    starts: list[float] = []

    async def fails(step: Any) -> None:
        starts.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0.05)
        raise ValueError("no")

    async def flow(ctx: Any) -> None:
        await ctx.step("s", fails, max_retries=4, retry_backoff_base=1, retry_backoff_max=5)

    assert "after 5 attempts: ValueError: no" in reason_of(ended(flow))
    gaps = [round(b - a, 3) for a, b in itertools.pairwise(starts)]
    assert gaps == [2, 4, 5, 5]


@pytest.mark.parametrize("base_ms", [0, 1, 100, 100_000])
def test_backoff_grows_to_its_limit_and_never_overflows(base_ms: int) -> None:
    delays = [backoff_ms(attempt, base_ms, 30_000) for attempt in [*range(1, 2000), 100_000]]
    assert delays == sorted(delays)
    assert delays[0] == min(30_000, base_ms * 2) and delays[-1] == (30_000 if base_ms else 0)


def test_a_retry_wait_survives_a_restart() -> None:
    tries: list[float] = []

    async def once_broken(step: Any) -> str:
        tries.append(asyncio.get_running_loop().time())
        if len(tries) == 1:
            raise ValueError("first")
        return f"attempt {step.attempt}"

    async def flow(ctx: Any) -> Any:
        return await ctx.step("s", once_broken, retry_backoff_base=30, retry_backoff_max=60)

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(10), clean=False)
    world.live(to_the_end)
    assert world.view().workflow.output == "attempt 2"
    assert tries[1] == pytest.approx(60, abs=0.1)


def test_state_changed_by_a_failed_attempt_stays() -> None:
    async def grows(step: Any) -> None:
        step.state["n"] += 1
        if step.attempt < 3:
            raise ValueError("again")

    async def flow(ctx: Any) -> None:
        await ctx.step("s", grows)

    world = world_of(flow)
    world.live(to_the_end)
    assert world.view().state == {"n": 3}


def test_messages_of_a_failed_attempt_are_never_sent() -> None:
    async def post(step: Any) -> None:
        await step.queue.send("work", step.attempt)
        if step.attempt < 3:
            raise ValueError("again")

    async def flow(ctx: Any) -> Any:
        await ctx.step("s", post)
        return [m.body for m in await ctx.queue.next_batch("all", count=9)]

    assert ended(flow).output == [3]


# -- what may not be retried -----------------------------------------------------------------------------


def _raise(error: BaseException) -> Any:
    async def body(step: Any) -> None:
        raise error

    return body


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("x"), StepExhaustedError),
        (SystemExit(3), StepExhaustedError),
        (asyncio.CancelledError("own"), StepExhaustedError),
        (ExceptionGroup("g", [ValueError("x"), KeyError("y")]), StepExhaustedError),
        (CriticalError("x"), StepCriticalError),
        (ExceptionGroup("g", [ExceptionGroup("h", [CriticalError("x")])]), StepCriticalError),
    ],
    ids=repr,
)
def test_failures_by_kind(error: BaseException, kind: type[StepError]) -> None:
    seen: list[StepError] = []

    async def flow(ctx: Any) -> None:
        try:
            await ctx.step("s", _raise(error), max_retries=2, retry_backoff_base=0)
        except StepError as caught:
            seen.append(caught)

    assert ended(flow).status == "completed"
    assert type(seen[0]) is kind
    assert seen[0].attempts == (3 if kind is StepExhaustedError else 1)
    assert seen[0].failure.type == type(error).__name__


class Awkward(Exception):
    """Could be pickled and not unpickled."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


def test_a_failure_reads_the_same_before_and_after_a_restart() -> None:
    seen: list[tuple[str, ...]] = []

    async def awkward(step: Any) -> None:
        try:
            raise KeyError("cause")
        except KeyError as cause:
            raise Awkward("this", "that") from cause

    async def flow(ctx: Any) -> None:
        try:
            await ctx.step("s", awkward, max_retries=0)
        except StepExhaustedError as error:
            failure = error.failure
            seen.append(
                (type(error).__name__, str(error), failure.type, failure.causes[0].type, failure.traceback)
            )
        await ctx.sleep("nap", 1000)

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(10), clean=False)
    world.live(to_the_end)
    assert seen[0] == seen[1]
    assert seen[0][1] == "Step 's' failed after 1 attempt: Awkward: this and that"
    assert "raise Awkward" in seen[0][4] and "rivetpy/workflow" not in seen[0][4]


def test_a_users_error_keeps_its_code() -> None:
    async def flow(ctx: Any) -> None:
        await ctx.step("s", _raise(UserError("no", code="declined", metadata={"a": 1})), max_retries=0)

    failure = ended(flow).failure
    assert failure is not None and (failure.group, failure.code, failure.metadata) == (
        "user",
        "declined",
        {"a": 1},
    )


# -- values ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}], ids=repr)
def test_empty_values_are_values(value: Any) -> None:
    ran: list[int] = []

    async def give(step: Any) -> Any:
        ran.append(1)
        return value

    async def flow(ctx: Any) -> Any:
        first = await ctx.step("s", give)
        await ctx.sleep("nap", 100)
        return [first]

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(1), clean=False)
    world.live(to_the_end)
    assert world.view().workflow.output == [value] and ran == [1]


def test_a_value_is_the_one_the_journal_keeps() -> None:
    shared = {"list": [1], "tuple": (1, 2)}
    seen: list[Any] = []

    async def give(step: Any) -> Any:
        return shared

    async def flow(ctx: Any) -> None:
        value = await ctx.step("s", give)
        seen.append(codec.decode(codec.encode(value)))
        value["list"].append("changed")
        await ctx.sleep("nap", 100)

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(1), clean=False)
    world.live(to_the_end)
    assert len(seen) >= 2 and all(value == {"list": [1], "tuple": [1, 2]} for value in seen)
    assert shared == {"list": [1], "tuple": (1, 2)}


def _cycle() -> Any:
    cycle: dict[str, Any] = {}
    cycle["self"] = cycle
    return cycle


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"x": float("nan")}, "$.x"),
        ({"items": [1, 2, open]}, "$.items[2]"),
        (lambda: 1, "$"),
        (_cycle(), "$.self"),
        ({1: 2}, "the key 1"),
    ],
    ids=["nan", "function", "lambda", "cycle", "int key"],
)
def test_a_result_that_cannot_be_kept_fails_at_once_and_says_where(value: Any, where: str) -> None:
    ran: list[int] = []

    async def give(step: Any) -> Any:
        ran.append(1)
        return value

    async def flow(ctx: Any) -> None:
        await ctx.step("bad result", give)

    reason = reason_of(ended(flow))
    assert "bad result" in reason and where in reason and ran == [1]


def test_a_state_that_cannot_be_kept_fails_the_step_and_is_put_back() -> None:
    async def spoil(step: Any) -> None:
        step.state["n"] = {"deep": [object()]}

    async def flow(ctx: Any) -> None:
        await ctx.step("spoil", spoil)

    world = world_of(flow)
    world.live(to_the_end)
    assert "state.n.deep[0]" in reason_of(world.view().workflow)
    assert world.view().state == {"n": 0}


def test_what_was_put_off_before_a_refused_commit_is_not_forgotten() -> None:
    """An ephemeral entry travels with the next commit, also when the first try at one is refused."""
    ran: list[str] = []

    async def note(step: Any) -> None:
        ran.append("ephemeral")

    async def spoil(step: Any) -> None:
        step.state["n"] = object()

    async def flow(ctx: Any) -> None:
        await ctx.step("e", note, ephemeral=True)
        with pytest.raises(StepCriticalError):
            await ctx.step("spoil", spoil)
        await ctx.sleep("nap", 100)

    world = world_of(flow)
    world.live(lambda host, actor: asyncio.sleep(1), clean=False)
    world.live(to_the_end)
    assert world.view().workflow.status == "completed" and ran == ["ephemeral"]


# -- the step context ------------------------------------------------------------------------------------


def test_the_idempotency_key_is_stable_per_entry() -> None:
    keys: dict[str, list[str]] = {"a": [], "b": []}

    async def keep(step: Any, name: str) -> None:
        keys[name].append(step.idempotency_key)
        if step.attempt < 2:
            raise ValueError("again")

    async def flow(ctx: Any) -> None:
        await ctx.step("a", keep, "a")
        await ctx.step("b", keep, "b")

    world = world_of(flow)
    with pytest.raises(Died):
        world.live(to_the_end, die_before=3)
    world.live(to_the_end)
    assert len(keys["a"]) >= 2 and len(set(keys["a"])) == 1 == len(set(keys["b"]))
    assert set(keys["a"]) != set(keys["b"])


def test_a_step_context_is_dead_after_its_step() -> None:
    kept: list[Any] = []

    async def keep(step: Any) -> None:
        kept.append(step)

    async def flow(ctx: Any) -> Any:
        await ctx.step("s", keep)
        try:
            kept[0].state["n"] = 1
        except WorkflowUsageError as error:
            return str(error)

    assert "after the step ended" in ended(flow).output


@pytest.mark.parametrize("name", ["state", "vars", "db", "kv", "client", "broadcast", "schedule"])
def test_actor_data_is_out_of_reach_between_steps(name: str) -> None:
    async def flow(ctx: Any) -> None:
        getattr(ctx, name)

    assert f"step.{name}" in reason_of(ended(flow))


def test_lambdas_partials_and_threads_are_bodies_too() -> None:
    async def double(step: Any, n: int) -> int:
        return n * 2

    def blocking(step: Any, n: int) -> str:
        step.state["n"] = n
        return f"{n} {threading.current_thread() is threading.main_thread()}"

    def stops(step: Any) -> None:
        raise StopIteration

    async def flow(ctx: Any) -> Any:
        with pytest.raises(StepExhaustedError, match="StopIteration"):
            await ctx.step("stops", stops, max_retries=0)
        return [await ctx.step("lambda", lambda step: double(step, 2)), await ctx.step("def", blocking, 3)]

    assert ended(flow).output == [4, "3 False"]


@pytest.mark.parametrize(
    "options",
    [{"max_retries": -1}, {"max_retries": 1.5}, {"timeout": float("nan")}, {"retry_backoff_base": "1"}],
    ids=repr,
)
def test_senseless_options_are_refused_before_anything_is_recorded(options: Any) -> None:
    async def flow(ctx: Any) -> None:
        await ctx.step("s", _raise(ValueError()), **options)

    view = ended(flow)
    assert "step 's'" in reason_of(view) and view.entries == ()


def test_a_verb_inside_a_step_is_refused() -> None:
    async def flow(ctx: Any) -> None:
        async def nested(step: Any) -> None:
            await ctx.step("inner", _raise(ValueError()))

        await ctx.step("outer", nested)

    assert "'inner' was started while 'outer'" in reason_of(ended(flow))


def test_what_was_replayed_is_not_looked_through_by_each_new_step(monkeypatch: pytest.MonkeyPatch) -> None:
    class Watched(set[str]):
        def __iter__(self) -> Iterator[str]:
            assert self, "an emptied set is as slow to look through as it was when it was full"
            return super().__iter__()

    monkeypatch.setattr(scopes, "set", Watched, raising=False)
    ran: list[int] = []

    async def note(step: Any, n: int) -> None:
        ran.append(n)

    async def flow(ctx: Any) -> None:
        for n in range(8):
            await ctx.step(f"s{n}", note, n)

    world = world_of(flow)
    with pytest.raises(Died):
        world.live(to_the_end, die_after=5)
    world.live(to_the_end)
    assert sorted(set(ran)) == list(range(8)) and ran.count(0) == 1
