"""Faults that users of durable-workflow engines reported in public, by kind, and the test that keeps each away.

H01  nested loops read as diverged after a resume:
     test_cases.test_nested_loops_are_no_divergence
H02  parallel steps recorded in scheduling order:
     test_cases.test_parallel_steps_in_any_order
H02  parallel steps outside a join:
     test_concurrency_refused.test_verbs_at_once_are_refused_at_the_first_use
H03  a changed duration is another sleep:
     test_sleep.test_a_changed_duration_does_not_move_the_deadline
H04  code between steps logs again on replay:
     test_divergence.test_replaying_is_told_and_the_log_is_silent
H05  divergence is retried and grows the history:
     test_divergence.test_divergence_writes_nothing_however_often_it_is_tried_and_good_code_goes_on
H06  the same name used twice:
     test_divergence.test_a_name_used_twice_names_both_places
H07  a value mutated after it was recorded:
     test_step.test_a_value_is_the_one_the_journal_keeps
H07  a default state shared by actors:
     test_cases.test_default_states_are_not_shared
H08  a timed receive in a loop delivers again:
     test_cases.test_a_timed_receive_in_a_loop_delivers_once
H09  a crash after the receipt loses the message:
     test_receive.test_a_crash_after_the_receipt_neither_loses_nor_repeats_the_message
H09  a crash before the completion loses the message:
     test_receive.test_an_uncompleted_message_is_handed_out_again_with_the_same_id
H10  messages sent before the first run are missed:
     test_cases.test_messages_sent_before_the_first_run_come_in_order
H11  timers overflow:
     test_sleep.test_long_sleeps_are_still_pending_after_a_restart
H11  senseless durations:
     test_sleep.test_senseless_durations_are_refused_before_recording
H12  timers are not armed after a reload:
     test_cases.test_timers_are_armed_after_a_reload
H13  moments without a fraction:
     test_sleep.test_moments_with_and_without_fractions_and_zones
H14  back-off overflows before its cap:
     test_step.test_backoff_grows_to_its_limit_and_never_overflows
H15  a recorded exception cannot be rebuilt:
     test_step.test_a_failure_reads_the_same_before_and_after_a_restart
H16  a failure inside a group is not seen:
     test_join.test_a_group_in_a_branch_fails_it_with_its_leaves_and_leaves_no_task
H17  a timeout does not stop the work:
     test_step_limits.test_a_timed_out_body_is_cancelled_and_cleans_up
H17  a timeout cannot stop a thread:
     test_step_limits.test_a_timed_out_thread_is_told_and_its_late_result_thrown_away
H18  a step that kills its process for ever:
     test_step_limits.test_a_step_that_kills_the_engine_is_exhausted
H19  a rollback moves the loop:
     test_rollback.test_a_loops_position_does_not_move
H19  a rollback that is killed runs handlers twice:
     test_rollback.test_a_kill_at_every_write_resumes_with_the_handlers_not_done
H20  finally blocks run in the wrong place:
     test_host.test_putting_away_fifty_workflows_leaves_no_warning_and_no_change
H21  blocking code freezes everything:
     test_cases.test_blocking_steps_freeze_nobody
H22  an actor that calls itself waits for ever:
     test_cases.test_an_actor_that_calls_itself_is_answered
H23  NaN and infinity give output that is not JSON:
     test_cases.test_nan_is_refused_where_it_is
H24  common types come back as others:
     test_codec.test_every_value_of_the_table_comes_back
H25  a value that cannot be stored hangs the run:
     test_step.test_a_result_that_cannot_be_kept_fails_at_once_and_says_where
H26  a torn end or a damaged middle of the journal:
     test_sqlite.test_damage_inside_is_named_when_it_is_met
H26  a torn end stops recovery or hides the next record:
     crash.test_torn.test_a_torn_end_costs_what_was_torn_and_nothing_else
H27  two servers on one data directory:
     e2e.test_dev.test_a_data_directory_in_use
H28  a data directory that cannot be written:
     e2e.test_dev.test_a_data_directory_that_can_not_be
H28  a home that cannot be:
     e2e.test_dev.test_a_home_that_can_not_be
H29  a syntax error ends the server:
     e2e.test_reload.test_a_broken_save_leaves_the_last_good_code
H30  data beside the code restarts the server:
     e2e.test_reload.test_data_beside_the_registry_is_no_save
H31  old and new code side by side:
     e2e.test_reload.test_five_saves_at_once_leave_one_child_with_the_last
H32  objects from before the reload:
     e2e.test_reload.test_an_exception_of_an_edited_module_is_still_caught
H33  the port is taken:
     e2e.test_dev.test_a_port_that_is_taken
H34  what a registry prints is mixed into results:
     test_cli_every.test_debug_noise_of_a_registry_is_no_answer
H34  an interrupt is shown as an error:
     e2e.test_dev.test_an_interrupt_ends_a_waiting_command_with_130
H35  output that cannot be piped:
     test_cli_every.test_a_closed_pipe_ends_every_command_quietly
H35  lists that no program can read:
     test_cli_every.test_json_keeps_to_its_schema
H36  the database is locked for several writers:
     e2e.test_senders.test_several_processes_send_while_others_look
H37  the store of another version:
     e2e.test_dev.test_a_journal_of_a_newer_format
H38  calls while an actor goes to sleep:
     test_leaving.test_calls_come_through_while_the_actor_goes_to_sleep_again_and_again
H39  text of users is obeyed by the terminal:
     test_cli_every.test_hostile_text_is_printed_literally
H40  the simplest path fails out of the box:
     e2e.test_wheel.test_the_quick_start_from_a_wheel_in_an_empty_place
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from rivetpy import actor
from rivetpy.engine.inspector.shapes import history_json
from rivetpy.host import Host
from rivetpy.wire.bodies import QueueSend
from rivetpy.workflow import Loop
from tests.support.flows import define, ended, reason_of, to_the_end, world_of
from tests.support.world import Died, World, until

TABLE = re.findall(r"^(H\d\d)  .+:\n     ((?:\w+\.)?test_\w+)\.(test_\w+)$", __doc__ or "", re.MULTILINE)


def test_each_case_has_a_test() -> None:
    assert {number for number, _, _ in TABLE} == {f"H{number:02}" for number in range(1, 41)}
    for number, module, name in TABLE:
        source = (Path(__file__).parent / f"{module.replace('.', '/')}.py").read_text()
        assert f"\ndef {name}(" in source, f"{number}: {module}.{name} is not there"


def test_nested_loops_are_no_divergence() -> None:
    ran: list[str] = []

    async def note(step: Any) -> None:
        ran.append(step.idempotency_key)

    async def inner(loop: Any, j: int) -> Any:
        await loop.step("s", note)
        await loop.sleep("nap", 0.05)
        return Loop.break_(j) if j == 3 else Loop.continue_(j + 1)

    async def outer(loop: Any, seen: list[int]) -> Any:
        seen = [*seen, await loop.loop("inner", inner, state=0)]
        return Loop.break_(seen) if len(seen) == 3 else Loop.continue_(seen)

    async def flow(ctx: Any) -> Any:
        return await ctx.loop("outer", outer, state=[])

    whole = world_of(flow)
    whole.live(to_the_end)
    for number in range(2, whole.commits + 1):
        world = world_of(flow)
        with pytest.raises(Died):
            world.live(to_the_end, die_after=number)
        world.live(to_the_end)
        assert world.view().workflow.output == [3, 3, 3], number
    ran.clear()
    world = world_of(flow)
    for _ in range(whole.commits):  # cut at each write in turn, one after another
        try:
            world.live(to_the_end, die_after=3)
        except Died:
            continue
        break
    assert world.view().workflow.output == [3, 3, 3] and len(ran) == len(set(ran)) == 12


def test_parallel_steps_in_any_order() -> None:
    chance = random.Random(7)
    ran: list[str] = []

    async def body(step: Any, name: str) -> str:
        await asyncio.sleep(chance.random() * 0.03)
        ran.append(name)
        return name

    async def flow(ctx: Any) -> Any:
        def branch(name: str) -> Any:
            return lambda b: b.step("work", body, name, max_retries=1000)

        return await ctx.join("all", {name: branch(name) for name in "abc"})

    for _ in range(20):
        ran.clear()
        world = world_of(flow)
        for _ in range(20):
            recorded = world.recorded_steps()
            before = len(ran)
            world.live(lambda host, actor: asyncio.sleep(chance.random() * 0.04), clean=False)
            assert not {place.split("/")[1] for place in recorded} & set(ran[before:])
        world.live(to_the_end)
        assert world.view().workflow.output == {"a": "a", "b": "b", "c": "c"}


def test_default_states_are_not_shared() -> None:
    async def add(c: Any) -> int:
        c.state["l"].append(1)
        return len(c.state["l"])

    async def script(host: Host, _: str) -> list[int]:
        rows = [await host.create("default", "subject", (name,)) for name in "ab"]
        return [await host.call(row.id, "add", []) for row in rows]

    state: dict[str, list[int]] = {"l": []}
    assert World(actor(state=state, actions={"add": add})).live(script, create=False) == [1, 1]
    assert state == {"l": []}


@pytest.mark.parametrize("always_replay", [False, True], ids=["warm", "replay"])
def test_a_timed_receive_in_a_loop_delivers_once(always_replay: bool) -> None:
    async def again(loop: Any, state: Any) -> Any:
        messages = await loop.queue.next_batch("m", timeout=0.05)
        handled, left = [*state[0], *(message.body for message in messages)], state[1] - 1
        return Loop.continue_([handled, left]) if left else Loop.break_(handled)

    async def flow(ctx: Any) -> Any:
        await ctx.sleep("let it come", 1)
        return await ctx.loop("l", again, state=[[], 9])

    async def send(host: Host, actor_id: str) -> None:
        await host.send(actor_id, "work", QueueSend("first"))
        await asyncio.sleep(0.9)

    world = world_of(flow, always_replay=always_replay)
    world.live(send, clean=False)
    for _ in range(5):
        world.live(lambda host, actor: asyncio.sleep(0.07), clean=False)
    world.live(to_the_end)
    assert world.view().workflow.output == ["first"]


def test_messages_sent_before_the_first_run_come_in_order() -> None:
    async def flow(ctx: Any) -> Any:
        return [(await ctx.queue.next(f"m{i}")).body for i in range(5)]

    async def script(host: Host, actor_id: str) -> None:
        await asyncio.gather(*(host.send(actor_id, "work", QueueSend(i)) for i in range(5)))
        await until(host, actor_id)

    world = world_of(flow)
    world.live(script)
    assert world.view().workflow.output == [0, 1, 2, 3, 4]


def test_timers_are_armed_after_a_reload() -> None:
    ends: list[float] = []

    def version(number: int) -> Any:
        async def flow(ctx: Any) -> Any:
            await ctx.sleep("nap", 3 if number == 1 else 1000)
            ends.append(asyncio.get_running_loop().time())
            return number

        return define(flow)

    async def broken(ctx: Any) -> Any:
        await ctx.step("a mistake", lambda step: None)

    world = World(version(1))
    world.live(lambda host, actor: asyncio.sleep(1))
    world.definition = version(2)
    world.live(lambda host, actor: asyncio.sleep(5), create=False)
    assert world.view().workflow.output == 2 and 3 <= ends[0] < 3.1

    ends.clear()
    world = World(version(1))
    world.live(lambda host, actor: asyncio.sleep(1))
    world.definition = define(broken)
    world.live(lambda host, actor: asyncio.sleep(4), create=False)
    assert world.view().workflow.status == "diverged" and ends == []
    world.definition = version(3)
    world.live(lambda host, actor: asyncio.sleep(1), create=False)
    assert world.view().workflow.output == 3 and len(ends) == 1 and 5 <= ends[0] < 5.1


def test_blocking_steps_freeze_nobody() -> None:
    release, answers = threading.Event(), []

    def blocks(step: Any) -> bool:
        return release.wait(10)

    async def flow(ctx: Any) -> Any:
        return await ctx.step("blocks", blocks)

    async def script(host: Host, actor_id: str) -> None:
        other = await host.create("default", "subject", ("other",))
        answers.append(await host.call(other.id, "ping", []))
        answers.append(await host.call(actor_id, "ping", []))
        release.set()
        await until(host, actor_id)

    world = World(define(flow, actions={"ping": lambda c: "pong"}))
    world.live(script)
    assert answers == ["pong", "pong"] and world.view().workflow.output is True


def test_an_actor_that_calls_itself_is_answered() -> None:
    hosts: list[tuple[Host, str]] = []

    async def outer(c: Any, depth: int) -> Any:
        host, actor_id = hosts[0]
        return depth if depth == 3 else await host.call(actor_id, "outer", [depth + 1])

    async def waits(step: Any) -> None:
        await step.queue.send("work", "to itself", wait=True)

    async def flow(ctx: Any) -> Any:
        await ctx.step("waits", waits, max_retries=0)

    async def script(host: Host, actor_id: str) -> Any:
        hosts.append((host, actor_id))
        await until(host, actor_id, seconds=10)
        return await host.call(actor_id, "outer", [0])

    world = World(define(flow, actions={"outer": outer}))
    assert world.live(script) == 3
    assert "wait" in reason_of(world.view().workflow) and world.view().queue == ()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_nan_is_refused_where_it_is(number: float) -> None:
    async def flow(ctx: Any) -> Any:
        await ctx.step("bad", lambda step: {"x": [1, number]})

    world = world_of(flow)
    world.live(to_the_end)
    reason = reason_of(world.view().workflow)
    assert "step 'bad'" in reason and "$.x[1]" in reason
    json.loads(json.dumps(history_json(world.view()), allow_nan=False))


def test_a_run_that_ends_badly_ends() -> None:
    async def flow(ctx: Any) -> Any:
        cycle: list[Any] = []
        cycle.append(cycle)
        return await ctx.step("cycle", lambda step: cycle)

    assert "contains itself" in reason_of(ended(flow))
