"""What the terminal shows, cell by cell: goldens at 80 and 120 columns, hostile text, times nobody will see."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from rivetpy import codec
from rivetpy.cli import times
from rivetpy.cli.journal import build_tree, read_lines
from rivetpy.cli.render_actor import header, table
from rivetpy.cli.render_entry import entry_line, entry_lines
from rivetpy.cli.render_history import Wanted, tree
from rivetpy.cli.render_queue import queue_table
from rivetpy.cli.terminal import clip, pad
from rivetpy.cli.text import json_text, visible
from rivetpy.engine.actorjson import actor_json
from rivetpy.engine.inspector import history_json, queue_json
from rivetpy.host.view import ActorView, WaitView, WorkflowView
from rivetpy.store import ActorRow
from rivetpy.workflow.entries import (
    BlockEntry,
    Branch,
    CheckpointEntry,
    Entry,
    JoinEntry,
    LoopEntry,
    Message,
    MessageEntry,
    RaceEntry,
    SleepEntry,
    Status,
    StepEntry,
    VersionEntry,
)
from rivetpy.workflow.errors import HistoryDivergedError, Recorded
from rivetpy.workflow.failure import Failure
from rivetpy.workflow.location import segment

GOLDEN = Path(__file__).parent / "golden" / "terminal"
NOW = 1_800_000_000_000  # 2027-01-15 08:00:00 UTC
DAY = 86_400_000
ROW = ActorRow("abcd" * 7 + "00", "default", "workflowCounter", ("main",), NOW - 3 * DAY)
WIDE = "日本語テキスト🎉"
HOSTILE = "[red]x[/]\x1b[2J\x07\u202e\r\n"


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def failure(text: str = "card declined") -> Failure:
    cause = Failure("ConnectTimeout", "httpx", "no answer from api.example.com")
    return Failure("RuntimeError", "builtins", text, traceback="Traceback …\n  in charge", causes=(cause,))


def step(place: str, seq: int, status: Status = Status.COMPLETED, **more: Any) -> StepEntry:
    begun = NOW - 60_000 + seq * 100
    finished = None if status is Status.PENDING else begun + 12 * seq
    given = {"attempts": 1, "started_at": begun, "output": codec.encode(None)} | more
    return StepEntry(place, seq, status, begun, finished, **given)


def received(place: str, seq: int, *bodies: Any) -> MessageEntry:
    begun = NOW - 60_000 + seq * 100
    messages = [Message(n, "counter", codec.encode(body), begun) for n, body in enumerate(bodies, 1)]
    return MessageEntry(place, seq, Status.COMPLETED, begun, begun + 5, messages=messages)


def waiting(place: str, seq: int, deadline: int | None = None) -> MessageEntry:
    return MessageEntry(place, seq, Status.PENDING, NOW - 1000, queues=["counter"], deadline=deadline)


def loop(place: str, seq: int, iteration: int, status: Status = Status.RUNNING, **more: Any) -> LoopEntry:
    done = NOW - 500 if status is Status.COMPLETED else None
    return LoopEntry(place, seq, status, NOW - 70_000, done, iteration=iteration, **more)


def view(
    entries: Iterable[Entry],
    status: str = "sleeping",
    waits: tuple[WaitView, ...] = (),
    error: Failure | None = None,
    output: Any = None,
    row: ActorRow = ROW,
) -> ActorView:
    workflow = WorkflowView(status, waits, output, error, tuple(entries))
    return ActorView(row, True, None, (), workflow)


def counting() -> ActorView:
    entries: list[Entry] = [
        step("set up", 1, output=codec.encode({"url": "https://api.example.com/v1/" + "x" * 90}))
    ]
    entries.append(loop("counter-loop", 2, 27))
    for n in range(20, 27):
        entries.append(received(f"counter-loop/~{n}/wait-command", 3 * n, {"delta": n}))
        entries.append(step(f"counter-loop/~{n}/apply-command", 3 * n + 1, attempts=2 if n == 22 else 1))
    entries.append(waiting("counter-loop/~27/wait-command", 100))
    wait = WaitView("message", "counter-loop/~27/wait-command", None, ("counter",))
    return view(entries, waits=(wait,))


def failing() -> ActorView:
    entries: list[Entry] = [
        step("reserve", 1, output=codec.encode({"id": 7})),
        step("charge", 2, Status.EXHAUSTED, attempts=4, output=None, failure=failure(), reason="exhausted"),
    ]
    return view(entries, "failed", error=failure())


def nested() -> ActorView:
    far = 253_402_300_799_999
    entries: list[Entry] = [
        loop("outer", 1, 1, state=codec.encode({"sum": 3})),
        loop("outer/~0/inner", 2, 2, Status.COMPLETED, output=codec.encode("enough")),
        received("outer/~0/inner/~0/batch", 3, {"a": 1}, {"b": [2]}),
        received("outer/~0/inner/~1/batch", 4),
        SleepEntry("outer/~0/nap", 5, Status.COMPLETED, NOW - 9000, NOW - 4000, deadline=NOW - 4000),
        step(f"outer/~1/{WIDE}", 6, output=codec.encode({"name": WIDE * 8})),
        step("outer/~1/try", 7, Status.PENDING, failure=failure(), retry_at=NOW + 4200, attempts=1),
        waiting("outer/~1/wait", 8, deadline=NOW + 10_000 * DAY),
        SleepEntry("outer/~1/until the end", 9, Status.PENDING, NOW - 100, deadline=far),
    ]
    waits = (
        WaitView("retry", "outer/~1/try", NOW + 4200),
        WaitView("message", "outer/~1/wait", NOW + 10_000 * DAY, ("a", "b")),
        WaitView("sleep", "outer/~1/until the end", far),
    )
    return view(entries, waits=waits)


def hostile() -> ActorView:
    row = ActorRow("id", "default", f"n{HOSTILE}", (HOSTILE, "a/b"), 0)
    boom = Failure(f"T{HOSTILE}", "m", HOSTILE, causes=(Failure("C", "m", HOSTILE),))
    entries: list[Entry] = [
        step(segment("[bold]step[/bold]\u202e"), 1, output=codec.encode({HOSTILE: HOSTILE})),
        step("\U000e0001tag", 2, Status.FAILED, output=None, failure=boom),
    ]
    return view(entries, "failed", error=boom, row=row)


def branched() -> ActorView:
    """Join, race, block, gate and checkpoint, with what may become of their parts."""
    declined = failure()
    done = NOW - 20_000
    entries: list[Entry] = [
        CheckpointEntry("armed", 1, Status.COMPLETED, NOW - 50_000, NOW - 50_000),
        VersionEntry("gate", 2, Status.COMPLETED, NOW - 50_000, NOW - 50_000, resolved=1, latest=2),
        VersionEntry("fresh gate", 3, Status.COMPLETED, NOW - 50_000, NOW - 50_000, resolved=2, latest=2),
        JoinEntry("fetch", 4, Status.FAILED, NOW - 49_000, done, branches={
            "user": Branch(Status.COMPLETED, codec.encode({"id": 7})),
            "posts": Branch(Status.FAILED, failure=Failure("StepExhaustedError", "m", "Step 'get' failed")),
            "nothing recorded": Branch(Status.FAILED, failure=declined),
        }),
        step("fetch/user/get", 5, output=codec.encode({"id": 7})),
        step("fetch/posts/get", 6, Status.EXHAUSTED, attempts=4, output=None, failure=declined,
             reason="exhausted"),
        RaceEntry("first", 7, Status.COMPLETED, NOW - 30_000, done, winner="oracle", branches={
            "oracle": Branch(Status.COMPLETED, codec.encode("answer")),
            "timeout": Branch(Status.CANCELLED),
        }),
        step("first/oracle/ask", 8, output=codec.encode("answer")),
        BlockEntry("careful", 9, Status.FAILED, NOW - 20_000, done, failure=declined, source="step"),
        step("careful/charge", 10, Status.FAILED, output=None, failure=declined, reason="critical"),
        BlockEntry("own error", 11, Status.FAILED, NOW - 20_000, done, failure=declined, source="block"),
        BlockEntry("fine", 12, Status.COMPLETED, NOW - 20_000, done, output=codec.encode([1])),
        JoinEntry("now", 13, Status.RUNNING, NOW - 9000, branches={
            "a": Branch(Status.COMPLETED, codec.encode(1)), "b": Branch(), "c": Branch()}),
    ]  # fmt: skip
    return view(entries, "running")


def undone() -> ActorView:
    entries: list[Entry] = [
        CheckpointEntry("armed", 1, Status.COMPLETED, NOW - 50_000, NOW - 50_000),
        step("reserve", 2, output=codec.encode({"id": 7}), done=1, rollback_failure=failure("no answer")),
        step("charge", 3, output=codec.encode({"paid": 12}), done=2, rolled_back_at=NOW - 1000),
        step("ship", 4, Status.FAILED, output=None, failure=failure("no truck"), reason="rollback"),
    ]
    seen = view(entries, "failed", error=failure("no truck"))
    assert seen.workflow is not None
    workflow = dataclasses.replace(seen.workflow, rollback_failure=failure("no answer"))
    return dataclasses.replace(seen, workflow=workflow)


def rolling() -> ActorView:
    return view([step("a", 1), step("b", 2, rolled_back_at=NOW)], "rolling_back", error=failure())


def cancelled() -> ActorView:
    row = dataclasses.replace(ROW, key=("two words", "x"))
    return view([step("a", 1)], "cancelled", row=row)


def diverged() -> ActorView:
    around = [
        Recorded("main/~3/one", "step", False),
        Recorded(f"main/~3/{segment(WIDE)}", "step", True),
        Recorded(f"main/~3/{segment('[red]x[/]')}", "message", False),
    ]
    site = "/home/somebody/projects/something/with/a/long/path/registry.py:123"
    error = HistoryDivergedError("main/~3/second", "a new step 'second'", f"step '{WIDE}' next", site, around)
    entries: list[Entry] = [loop("main", 1, 3), step("main/~3/one", 2), step(f"main/~3/{WIDE}", 3)]
    return view(entries, "diverged", error=error.failure())


def finished() -> ActorView:
    return view([step("only", 1, output=codec.encode(1.5))], "completed", output={"total": 45.6})


def fresh() -> ActorView:
    return view([], "pending")


SHOWN = (
    *(counting, failing, nested, hostile, finished, fresh),
    *(branched, undone, rolling, cancelled, diverged),
)
VIEWS = {f.__name__: f for f in SHOWN}


def actor_of(seen: ActorView) -> dict[str, Any]:
    return dict(actor_json(seen.row, awake=True))


def shown(seen: ActorView, width: int, *, fold: bool = True) -> list[str]:
    history = history_json(seen)
    lines = read_lines(history["history"])
    texts = [*header(actor_of(seen), history, width, NOW)]
    texts += tree(build_tree(lines), width, NOW, Wanted(fold=fold)) if lines else []
    return [text.plain for text in texts]


def compare(name: str, lines: list[str]) -> None:
    """With UPDATE_GOLDEN=1 the files are written anew: look at the difference before you commit it."""
    file = GOLDEN / f"{name}.txt"
    told = "\n".join(lines) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(told)
    assert told == file.read_text()


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", VIEWS)
def test_a_history_looks_as_it_did(name: str, width: int) -> None:
    lines = shown(VIEWS[name](), width)
    assert max(map(cell_len, lines)) <= width
    compare(f"history-{name}-{width}", lines)


def test_json_rows_tell_branches_winners_and_rollbacks() -> None:
    rows = {line.location: line.as_json() for line in read_lines(history_json(branched())["history"])}
    join, race, block, gate = rows["fetch"], rows["first"], rows["careful"], rows["gate"]
    assert list(join["branches"]) == ["user", "posts", "nothing recorded"]
    assert join["branches"]["user"] == {"status": "completed", "value": {"id": 7}, "error": None}
    assert join["branches"]["posts"]["error"]["type"] == "StepExhaustedError"
    assert (race["winner"], race["value"]) == ("oracle", "answer")
    assert race["branches"]["timeout"]["status"] == "cancelled"
    assert (block["reason"], block["error"]["message"]) == ("step", "card declined")
    assert (gate["value"], gate["branches"], gate["winner"]) == ({"resolved": 1, "latest": 2}, None, None)
    assert rows["armed"]["kind"] == "rollback_checkpoint"
    rolled = {line.location: line.as_json() for line in read_lines(history_json(undone())["history"])}
    assert rolled["charge"]["rolledBackAt"] == NOW - 1000
    assert rolled["reserve"]["rollbackError"]["message"] == "no answer"


def test_unfolded_shows_every_iteration() -> None:
    lines = shown(counting(), 120, fold=False)
    assert sum("apply-command" in line for line in lines) == 7
    assert any("20 earlier iterations, pruned" in line for line in lines)


@pytest.mark.parametrize("width", [80, 120])
def test_actors_look_as_they_did(width: int) -> None:
    def listed(name: str, key: str, age: int, **about: Any) -> dict[str, Any]:
        summary = {
            "status": "sleeping",
            "workflowStatus": None,
            "waitingFor": [],
            "queueSize": 0,
            "historySize": 0,
            "nextWakeAt": None,
        }
        return {"name": name, "key": key, "create_ts": NOW - age, "summary": summary | about}

    actors = [
        listed("workflowCounter", "main", 5000, status="awake", workflowStatus="sleeping", historySize=54321,
               waitingFor=["message on counter"]),
        listed("invoice", WIDE * 3, 400 * DAY, workflowStatus="sleeping", nextWakeAt=NOW + 10_000 * DAY,
               waitingFor=["sleep trial until 2054-06-01 08:00:00Z", "message on orders"], queueSize=1000),
        listed("plain", HOSTILE, 0),
        listed("worker", "org/room", 7200_000, workflowStatus="failed", nextWakeAt=NOW - 1),
    ]  # fmt: skip
    lines = [text.plain for text in table(actors, width, NOW)]
    assert max(map(cell_len, lines)) <= width
    compare(f"actors-{width}", lines)
    assert [text.plain for text in table([], width, NOW)]


def test_a_queue_looks_as_it_did() -> None:
    messages = tuple(
        Message(n, name, codec.encode(body), NOW - n * 1000)
        for n, (name, body) in enumerate([("counter", {"delta": 1}), (WIDE, HOSTILE), ("x", "y" * 200)], 1)
    )
    seen = ActorView(ROW, False, None, messages, None)
    lines = [text.plain for text in queue_table(queue_json(seen), 80, NOW)]
    assert max(map(cell_len, lines)) <= 80
    compare("queue-80", lines)
    assert [text.plain for text in queue_table(queue_json(seen, 2), 80, NOW)][-1] == "3 waiting, 1 not shown"


@pytest.mark.parametrize("name", VIEWS)
def test_single_entries_look_as_they_did(name: str) -> None:
    lines = read_lines(history_json(VIEWS[name]())["history"])
    followed = [text.plain for line in lines[:13] for text in entry_line(line, 80, NOW)]
    assert not followed or max(map(cell_len, followed)) <= 80
    whole = [text.plain for line in lines[:13] for text in entry_lines(line, NOW)]
    compare(f"entries-{name}", [*followed, "", *whole])


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=30), st.integers(0, 20))
def test_text_in_a_column_takes_exactly_its_cells(text: str, cells: int) -> None:
    assert cell_len(clip(text, cells)) <= cells
    assert cell_len(pad(text, cells)) == cells


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_nothing_that_moves_the_cursor_is_printed(text: str) -> None:
    told = visible(text)
    assert not any(ord(letter) < 0x20 or 0x7F <= ord(letter) < 0xA0 for letter in told)
    assert not any(0xD800 <= ord(letter) < 0xE000 for letter in told)
    assert visible(told) == told


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_does_nothing_to_a_terminal(text: str) -> None:
    told = json_text({text: [text]})
    assert json.loads(told) == {text: [text]}
    assert not any(ord(letter) < 0x20 or 0x7F <= ord(letter) < 0xA0 for letter in told)
    assert not set(told) & set("\u202e\u2066\u2028")


@settings(max_examples=100, deadline=None)
@given(st.integers(-(10**20), 10**20), st.integers(0, 10**13))
def test_any_time_prints(ms: int, now: int) -> None:
    assert times.full(ms) and times.short(ms, now) and times.span(ms) and times.until(ms, now)


@pytest.mark.parametrize(
    ("ms", "told"),
    [
        (0, "1970-01-01 00:00:00"),
        (NOW, "2027-01-15 08:00:00"),
        (253_402_300_799_999, "9999-12-31 23:59:59"),
        (253_402_300_800_000, "10000-01-01 00:00:00"),
        (NOW + 10_000 * 365 * DAY, "12020-05-26 08:00:00"),
    ],
)
def test_times_past_the_year_9999(ms: int, told: str) -> None:
    assert times.full(ms) == told


def test_times_are_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    assert times.full(NOW) == "2027-01-15 13:30:00"
    assert times.full(253_402_300_799_999) == "10000-01-01 05:29:59"


@pytest.mark.parametrize(
    ("ms", "told"),
    [(0, "0ms"), (999, "999ms"), (1500, "1.5s"), (59_990, "1m00s"), (184_000, "3m04s"), (7_500_000, "2h05m"),
     (3 * DAY + 4 * 3_600_000, "3d04h"), (10_000 * DAY, "10000d"), (-5, "0ms")],
)  # fmt: skip
def test_spans(ms: int, told: str) -> None:
    assert times.span(ms) == told


def test_an_error_says_where_it_was_raised_and_nothing_twice() -> None:
    text = 'File "/srv/shop.py", line 7, in pay\n  File "/usr/lib/python3.11/json/decoder.py", line 355, in decode\n'
    cause = Failure("ValueError", "builtins", "no card", traceback=text)
    error = Failure(
        "StepExhaustedError", "rivetpy", "Step 'pay' failed: ValueError: no card", causes=(cause,)
    )
    lines = shown(view([], "failed", error=error), 80)
    assert "  StepExhaustedError: Step 'pay' failed: ValueError: no card (/srv/shop.py:7)" in lines
    assert not any("caused by" in line for line in lines)


def test_names_are_cut_after_values_and_get_a_line_when_they_do_not_fit() -> None:
    name = "wait-for-the-approval-of-a-manager"
    long = [step(name, 1, output=codec.encode("x" * 60)), step("n" * 60, 2), step("short", 3)]
    lines = shown(view(long, "completed"), 80)
    assert all(len(line) <= 80 for line in lines)
    assert any(line.startswith(f"{name} step") and "…" in line for line in lines)
    alone = lines.index("n" * 60)
    assert lines[alone + 1].split()[0] == "step" and lines[alone + 2].startswith("short ")
