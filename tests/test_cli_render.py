"""How lines for a terminal are made: text cut to cells, hostile text, times nobody will see, what folds."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from rivetpy import codec
from rivetpy.cli import times
from rivetpy.cli.journal import build_tree, read_lines
from rivetpy.cli.outline import Wanted
from rivetpy.cli.render_actor import header
from rivetpy.cli.render_history import tree
from rivetpy.cli.terminal import clip, pad
from rivetpy.cli.text import json_text, visible
from rivetpy.engine.actorjson import actor_json
from rivetpy.engine.inspector.shapes import history_json
from rivetpy.host.view import ActorView
from rivetpy.workflow.failure import Failure
from tests.support.shapes import DAY, NOW, branched, counting, step, undone, view


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def actor_of(seen: ActorView) -> dict[str, Any]:
    return dict(actor_json(seen.row, awake=True))


def shown(seen: ActorView, width: int, *, fold: bool = True) -> list[str]:
    history = history_json(seen)
    lines = read_lines(history["history"])
    texts = [*header(actor_of(seen), history, lines, width, NOW)]
    texts += tree(build_tree(lines), width, NOW, Wanted(fold=fold)) if lines else []
    return [text.plain for text in texts]


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
    assert any(line.startswith(f"  {name} ") and "…" in line for line in lines)
    alone = lines.index("  " + "n" * 60)
    assert lines[alone + 1].split()[0] == "step" and lines[alone + 2].startswith("  short ")
