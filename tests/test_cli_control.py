"""Controlling workflows from the command line, against a real engine in a thread: what is told, asked, refused."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rivetpy import Registry, actor, queue, setup
from rivetpy.cli import asking
from rivetpy.cli.engine_api import EngineApi
from rivetpy.workflow import Loop, workflow
from tests.support.command import Ended, engine_thread, rivet

ran: list[str] = []
broken = threading.Event()
held = threading.Event()


def note(step: Any, name: str) -> str:
    ran.append(name)
    return name


def fragile(step: Any) -> None:
    ran.append("fragile")
    if broken.is_set():
        raise ValueError("not yet")


def hold(step: Any) -> None:
    held.wait(30)


async def iteration(ctx: Any, total: int) -> Any:
    message = await ctx.queue.next("number")
    if message.body == "stop":
        return Loop.break_(total)
    await ctx.step("add", note, f"add {message.body}")
    return Loop.continue_(total + message.body)


async def summing(ctx: Any) -> Any:
    return await ctx.loop("main", iteration, state=0)


async def failing(ctx: Any) -> str:
    await ctx.step("first", note, "first")
    await ctx.step("fragile", fragile, max_retries=0)
    return "recovered"


async def holding(ctx: Any) -> None:
    await ctx.step("hold", hold, timeout=0)


def flows() -> Registry:
    return setup(
        use={
            "sum": actor(queues={"numbers": queue()}, run=workflow(summing)),
            "fails": actor(queues={"fails": queue()}, run=workflow(failing)),
            "holds": actor(queues={"holds": queue()}, run=workflow(holding)),
            "plain": actor(actions={"ping": lambda c: "pong"}),
        }
    )


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    held.clear()
    with engine_thread(flows()) as url:
        yield url
        held.set()


@pytest.fixture(autouse=True)
def place(endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("RIVET_DATA_DIR", "RIVET_TOKEN", "RIVET_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RIVET_ENDPOINT", endpoint)
    monkeypatch.setenv("COLUMNS", "100")
    ran.clear()


def done(*args: str) -> str:
    ended = rivet(*args)
    assert ended.code == 0 and not ended.err, ended
    return ended.out


def until(text: str, *args: str) -> str:
    """What a command prints once that has the text in it."""
    seen: Ended | None = None
    for _ in range(500):
        seen = rivet(*args)
        if text in seen.out:
            return seen.out
        time.sleep(0.01)
    raise AssertionError(seen)


def eventually(is_so: Callable[[], bool]) -> None:
    for _ in range(500):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError(ran)


def summed(key: str) -> None:
    """Three numbers and a stop, all handled."""
    for body in ("1", "2", "3", '"stop"'):
        done("send", "numbers", body, "--key", key)
    until("output 6", "history", "sum", key)


def test_rewind_shows_what_it_does_before_it_is_done() -> None:
    summed("shown")
    before = done("history", "sum", "shown", "--json")
    plan = done("rewind", "sum", "shown", "--to", "main/~1/add", "--dry-run")
    assert plan.splitlines() == [
        "4 entries go, from main/~1/add on",
        "completed steps that run again:",
        "  main/~1/add",
        "  main/~2/add",
        "2 messages go back into the queue",
    ]
    refused = rivet("rewind", "sum", "shown", "--to", "main/~1/add")
    assert (refused.code, refused.out) == (2, plan)
    assert refused.error == "Rewind sum shown? Nobody is here to be asked; add --yes"
    assert done("history", "sum", "shown", "--json") == before
    assert ran == ["add 1", "add 2", "add 3"]


def test_rewind_and_undo() -> None:
    summed("there and back")
    before = done("history", "sum", "there and back", "--json")
    told = done("rewind", "sum", "there and back", "--to", "main/~2/number", "--yes")
    assert told.splitlines()[-1] == (
        "rewound sum 'there and back'; back again: rivet rewind sum 'there and back' --undo"
    )
    eventually(lambda: ran == ["add 1", "add 2", "add 3", "add 3"])
    assert "output 6" in until("completed", "history", "sum", "there and back")
    told = done("rewind", "sum", "there and back", "--undo", "--yes")
    assert told == "undid the last rewind of sum 'there and back'; its workflow is completed\n"
    assert done("history", "sum", "there and back", "--json") == before
    again = rivet("rewind", "sum", "there and back", "--undo", "--yes")
    assert again.code == 1 and "(workflow.nothing_to_undo)" in again.error


def test_rewind_from_the_start_lists_a_few_and_counts_the_rest() -> None:
    for _ in range(15):
        done("send", "numbers", "1", "--key", "long")
    until("main/~15", "history", "sum", "long", "--json")
    plan = done("rewind", "sum", "long", "--dry-run").splitlines()
    assert plan[0] == "32 entries go, from the start"
    assert plan[-2:] == ["  and 3 more", "15 messages go back into the queue"]


class Person(io.StringIO):
    """Somebody at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("yes\n", 0), ("n\n", 1), ("\n", 1), ("", 1)])
def test_a_person_is_asked(answer: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    key = f"asked {answer!r}"
    done("send", "numbers", "1", "--key", key)
    until("~1/number", "history", "sum", key, "--json")
    monkeypatch.setattr(asking, "sys", type("Sys", (), {"stdin": Person(answer), "stderr": io.StringIO()}))
    ended = rivet("rewind", "sum", key)
    assert ended.code == code, ended
    assert ended.out.startswith("4 entries go, from the start\n")
    assert ("rewound" in ended.out) is (code == 0)


def test_recover_after_the_cause_is_gone() -> None:
    broken.set()
    done("send", "fails", "1", "--key", "r")
    shown = until("workflow failed", "history", "fails", "r")
    assert "rivet recover fails r  runs what failed again" in shown
    broken.clear()
    assert done("recover", "fails", "r").startswith("recovered fails r; its workflow is ")
    assert 'output "recovered"' in until("workflow completed", "history", "fails", "r")
    assert ran == ["first", "fragile", "fragile"]
    refused = rivet("recover", "fails", "r")
    assert refused.code == 1 and "is completed, not failed" in refused.error


def test_recover_before_the_cause_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    done("send", "fails", "1", "--key", "early")
    until("workflow ", "history", "fails", "early")
    monkeypatch.setattr(EngineApi, "workflow", lambda *_, **__: {"workflowState": "failed"})
    ended = rivet("recover", "fails", "early")
    assert (ended.code, ended.out) == (1, "")
    assert (
        "recovered fails early, and its workflow failed again. Why: rivet history fails early" in ended.error
    )


def test_cancel_asks_and_is_for_good() -> None:
    done("send", "numbers", "1", "--key", "c")
    refused = rivet("cancel", "sum", "c")
    assert (refused.code, refused.out) == (2, "")
    assert "Cancel the workflow of sum c for good" in refused.error
    assert done("cancel", "sum", "c", "--yes") == "cancelled sum c\n"
    shown = done("history", "sum", "c")
    assert "workflow cancelled" in shown
    assert "rivet fork sum c NEWKEY --at ENTRY  goes on in a copy" in shown
    assert done("fork", "sum", "c", "goes on", "--at", "main").startswith("forked sum c as sum 'goes on': 0")
    done("send", "numbers", "5", "--key", "goes on")
    until("main/~1", "history", "sum", "goes on", "--json")
    again = rivet("cancel", "sum", "c", "--yes")
    assert again.code == 1 and "(workflow.ended)" in again.error


def test_a_message_to_a_workflow_that_has_ended_is_sent_with_a_note() -> None:
    summed("over")
    ended = rivet("send", "numbers", "4", "--key", "over")
    assert (ended.code, ended.out) == (0, "sent to sum over\n")
    told = "note: the workflow of sum over completed; nothing receives this. To run it again: rivet rewind sum over\n"
    assert ended.err == told
    done("send", "numbers", "1", "--key", "not over")
    done("cancel", "sum", "not over", "--yes")
    ended = rivet("send", "numbers", "2", "--key", "not over")
    assert ended.err == "note: the workflow of sum 'not over' was cancelled; nothing receives this\n"
    assert ended.code == 0 and "2" in done("queue", "sum", "not over")


def test_nothing_is_rewound_under_a_running_step() -> None:
    done("send", "holds", "1", "--key", "h")
    until("running", "history", "holds", "h")
    refused = rivet("rewind", "holds", "h", "--yes")
    assert refused.code == 1
    assert refused.error == (
        "A step of 'holds' is running. Wait for it, or cancel the workflow. (workflow.in_flight)"
    )


def test_sleep_and_wake() -> None:
    done("call", "ping", "--key", "s")
    listed = ("actors", "plain", "--json")
    assert done("sleep", "plain", "s") == "put plain s to sleep\n"
    assert '"status":"sleeping"' in done(*listed)
    assert done("wake", "plain", "s") == "woke plain s\n"
    assert '"status":"awake"' in done(*listed)


@pytest.mark.parametrize(
    ("args", "code", "problem"),
    [
        (["rewind", "sum", "--undo", "--to", "x"], 2, "leave out --to and --dry-run"),
        (["rewind", "sum", "--undo", "--dry-run"], 2, "leave out --to and --dry-run"),
        (["rewind"], 2, "Missing argument 'ACTOR'"),
        (["rewind", "plain", "known", "--yes"], 1, "(workflow.not_enabled)"),
        (["rewind", "sum", "known", "--to", "mian", "--yes"], 1, "Did you mean 'main'?"),
        *(
            ([verb, "sum", "konwn", *yes], 1, "Did you mean 'known'?")
            for verb, yes in (
                ("rewind", ["--yes"]),
                ("recover", []),
                ("cancel", ["--yes"]),
                ("wake", []),
                ("sleep", []),
            )
        ),
        (["recover", "sum", "known", "--endpoint", "http://127.0.0.1:9"], 1, "Start one: rivet dev"),
    ],
)
def test_mistakes_change_nothing_and_say_what_next(args: list[str], code: int, problem: str) -> None:
    done("send", "numbers", "1", "--key", "known")
    done("call", "ping", "--key", "known")
    before = until("~1/number", "history", "sum", "known", "--json")
    ended = rivet(*args)
    assert ended.code == code and problem in ended.error, ended
    assert done("history", "sum", "known", "--json").startswith(before)


@pytest.mark.parametrize("command", ["replay", "rewind", "recover", "cancel", "wake", "sleep"])
def test_help_has_an_example(command: str) -> None:
    assert f"Example: rivet {command} " in done(command, "--help")
