"""Which of the children of `rivet dev` has the data, and what is said of them: without a process or a clock."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rivetpy.cli import supervisor as supervising
from rivetpy.cli.launch import NOT_CHECKED, Launch, Order, Report
from rivetpy.cli.problems import StartProblem
from rivetpy.cli.process import Stage, after_order, after_report
from rivetpy.cli.saves import QUIET, Saves
from rivetpy.cli.stays import HOPELESS, SILENT, SLOW
from rivetpy.cli.supervisor import DEAF, GRACE, LEAVING_GRACE, MOST_RESTARTS, Supervisor
from rivetpy.config import RegistryRef

# -- which child has the data ------------------------------------------------------------------------------


class FakeChild:
    """A child that does what the test says."""

    def __init__(self, launch: Launch) -> None:
        self.registry = launch.registry
        self.stage = Stage.WARM
        self.refused = False
        self.saved_at: float | None = None
        self.actors: Report = {}
        self.pid = 77
        self.started = 0.0
        self.done: list[str] = []
        self.code: int | None = None

    def order(self, order: Order) -> None:
        self.stage = after_order(self.stage, order)
        self.done.append(order.name.lower())

    def end(self) -> None:
        self.done.append("end")

    def kill(self) -> None:
        self.done.append("kill")

    def close(self) -> int:
        self.done.append("close")
        return -9 if self.code is None else self.code


class FakeReloading:
    """Saves that the test makes."""

    def __init__(self) -> None:
        self.saves = Saves()

    def heard(self, report: Report) -> None: ...
    def look(self, now: float) -> None: ...
    def patience(self, now: float) -> float:
        return 1.0

    def relocated(self, launch: Launch) -> Launch:
        return launch


class Play:
    """A supervisor with fake children, and what it said."""

    def __init__(self, tmp_path: Path, *, reload: bool = True, log_format: str = "text") -> None:
        ref = RegistryRef(tmp_path / "registry.py", tmp_path, "registry", None)
        launch = Launch(ref, tmp_path, "disk", False, "info", log_format, False, 3, 4, 5, 6, (7, 8))
        self.children: list[FakeChild] = []
        self.reloading = FakeReloading() if reload else None
        self.supervisor = Supervisor(launch, lambda actors: None, self.reloading, self.make)  # type: ignore[arg-type]
        self.supervisor.bring()

    def make(self, launch: Launch) -> FakeChild:
        self.children.append(FakeChild(launch))
        return self.children[-1]

    def save(self, now: float) -> None:
        assert self.reloading is not None
        self.reloading.saves.note(now)
        self.supervisor.passed(now + QUIET)

    def report(self, child: FakeChild, *kinds: str, now: float = 0, actors: Report | None = None) -> None:
        values = NOT_CHECKED | {"imported": actors or {}, "stuck": "a.py:7"}
        for kind in kinds:
            report: Report = {kind: values.get(kind, {}), "detail": "", "files": []}
            child.stage = after_report(child.stage, report)
            self.supervisor.heard(child, report, now)  # type: ignore[arg-type]

    def end(self, child: FakeChild, code: int, now: float = 0) -> None:
        child.code = code
        self.supervisor.ended(child, now)  # type: ignore[arg-type]

    def serve(self, child: FakeChild) -> None:
        self.report(child, "imported", "checked", "ready")
        assert self.supervisor.serving is child and child.stage is Stage.SERVING  # type: ignore[comparison-overlap]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    lines: list[str] = []
    monkeypatch.setattr(supervising, "say_plainly", lines.append)
    yield lines


@pytest.fixture
def play(tmp_path: Path, said: list[str]) -> Play:
    return Play(tmp_path)


def test_the_first_child_gets_the_data_at_once(play: Play) -> None:
    (first,) = play.children
    play.serve(first)
    assert first.done == ["import", "go", "speak"]


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_save_that_does_not_work_shows_the_traceback(
    tmp_path: Path, said: list[str], log_format: str
) -> None:
    play = Play(tmp_path, log_format=log_format)
    play.serve(play.children[0])
    play.save(5)
    play.supervisor._refused(play.children[1], StartProblem("it broke", "Traceback:\n  a.py:7"))  # type: ignore[arg-type]
    waiting = "waiting for the next save; the last good code goes on"
    if log_format == "text":
        assert said == ["rivet: it broke", "Traceback:", "  a.py:7", f"rivet: {waiting}"]
    else:
        told = [json.loads(line) for line in said]
        assert [(line["level"], line["message"]) for line in told] == [
            ("error", "it broke\nTraceback:\n  a.py:7"),
            ("info", waiting),
        ]


def test_the_next_child_gets_the_data_when_the_last_one_is_gone(play: Play, said: list[str]) -> None:
    first = play.children[0]
    play.serve(first)
    play.save(5)
    second = play.children[1]
    assert second.done == ["check", "import"] and first.done[-1] == "speak"
    play.report(second, "imported", "checked")
    assert first.stage is Stage.LEAVING and second.stage is Stage.STANDING_BY
    play.end(first, 0)
    assert second.done == ["check", "import", "go"]
    play.report(second, "ready", now=5.4)
    assert said == ["rivet: reloaded in 0.40 s: code only"]
    assert play.supervisor.spare is play.children[2]  # type: ignore[comparison-overlap]


def test_a_save_during_an_import_replaces_it(play: Play) -> None:
    play.serve(play.children[0])
    play.save(5)
    play.save(6)
    assert play.children[1].done == ["check", "import", "kill", "close"]
    assert play.children[2].done == ["check", "import"]


def test_a_save_while_the_data_changes_hands_waits(play: Play) -> None:
    first = play.children[0]
    play.serve(first)
    play.save(5)
    second = play.children[1]
    play.report(second, "imported", "checked")
    play.save(6)
    assert len(play.children) == 2
    play.end(first, 0)
    play.supervisor.passed(7)
    assert play.children[2].done == ["check", "import"] and second.stage is Stage.OPENING
    play.report(play.children[2], "imported", "checked")
    assert second.stage is Stage.OPENING, "it can't leave before it serves"
    play.report(second, "ready")
    assert second.stage is Stage.LEAVING


@pytest.mark.parametrize("report", [True, False], ids=["said", "died"])
def test_a_broken_save_changes_nothing(play: Play, said: list[str], report: bool) -> None:
    first = play.children[0]
    play.serve(first)
    play.save(5)
    if report:
        play.report(play.children[1], "failed")
    play.end(play.children[1], 3)
    assert said[-1] == "rivet: waiting for the next save; the last good code goes on"
    assert len(said) == 2 and first.stage is Stage.SERVING
    play.save(6)
    assert play.children[2].done == ["check", "import"], "the one that was prepared"


def test_a_child_that_dies_is_replaced_after_a_pause_or_a_save(play: Play, said: list[str]) -> None:
    play.serve(play.children[0])
    play.end(play.children[0], -9, now=10)
    assert "was killed by SIGKILL; nothing is lost, it starts again in 0.25 s" in said[-1]
    play.supervisor.passed(10.2)
    assert len(play.children) == 1 and play.supervisor.patience(10.2) == pytest.approx(0.05)
    play.supervisor.passed(10.3)
    play.serve(play.children[1])
    assert said[-1] == "rivet: the engine runs again"
    play.end(play.children[1], 7, now=11)
    assert said[-1].endswith("it starts again in 0.5 s")
    play.save(11)
    play.serve(play.children[2])


def test_a_child_that_dies_while_the_next_one_comes_is_not_replaced_twice(play: Play) -> None:
    play.serve(play.children[0])
    play.save(5)
    play.end(play.children[0], -11, now=6)
    play.supervisor.passed(20)
    assert len(play.children) == 2
    play.serve(play.children[1])


def test_broken_code_after_a_death_waits_for_a_save(play: Play, said: list[str]) -> None:
    play.serve(play.children[0])
    play.end(play.children[0], -9, now=10)
    play.supervisor.passed(11)
    play.report(play.children[1], "failed")
    play.end(play.children[1], 3, now=12)
    assert said[-1] == "rivet: waiting for the next save; requests wait"
    play.supervisor.passed(1000)
    assert not play.supervisor.over and play.supervisor.coming is None
    play.save(1001)
    play.serve(play.children[2])


@pytest.mark.parametrize("reload", [True, False])
def test_a_start_that_fails_ends_it(tmp_path: Path, said: list[str], reload: bool) -> None:
    play = Play(tmp_path, reload=reload)
    play.report(play.children[0], "failed")
    play.end(play.children[0], 3)
    assert play.supervisor.over and isinstance(play.supervisor._failure, StartProblem) and not said


@pytest.mark.parametrize("deaf", [False, True])
def test_a_child_that_does_not_leave_in_time_is_killed(play: Play, said: list[str], deaf: bool) -> None:
    """Sooner when the user's code blocks it, so that it does not even hear that it should."""
    play.serve(play.children[0])
    play.save(5)
    play.report(play.children[1], "imported", "checked", now=6)
    if not deaf:
        play.report(play.children[0], "leaving", now=6)
        play.supervisor.passed(6 + DEAF)
        assert play.children[0].done[-1] == "leave"
    play.supervisor.passed(6 + DEAF if deaf else 6 + LEAVING_GRACE)
    assert play.children[0].done[-1] == "kill" and "is killed; nothing is lost" in said[-1]
    play.end(play.children[0], -9)
    assert play.children[1].done[-1] == "go"


# -- what hangs, and who waits for whom --------------------------------------------------------------------


def test_an_opening_that_hangs_is_named_and_the_next_save_replaces_it(play: Play, said: list[str]) -> None:
    first = play.children[0]
    play.report(first, "imported", "checked", now=1)
    play.supervisor.passed(1)
    play.report(first, "stuck", now=1 + SLOW)
    assert said == [
        "rivet: registry.py has the data and does not serve for a while now, at a.py:7; requests wait"
    ]
    play.supervisor.passed(1 + SILENT)
    assert len(said) == 1, "once is enough"
    play.save(20)
    play.report(play.children[1], "imported", "checked", now=21)
    play.supervisor.passed(21)
    assert first.done[-1] == "kill" and play.children[1].stage is Stage.STANDING_BY
    play.end(first, -9, now=21)
    play.serve(play.children[1])


@pytest.mark.parametrize("got_on_to", [("imported", "checked"), ("imported", "checked", "ready")])
def test_a_word_of_a_hang_that_is_over_is_not_said(
    play: Play, said: list[str], got_on_to: tuple[str, ...]
) -> None:
    play.serve(play.children[0])
    play.save(5)
    play.report(play.children[1], *got_on_to[:2])
    if "ready" in got_on_to:
        play.end(play.children[0], 0)
        play.report(play.children[1], "ready")
    before = len(said)
    play.report(play.children[1], "stuck")
    assert len(said) == before


def test_an_opening_has_its_time_before_a_save_ends_it(play: Play) -> None:
    first = play.children[0]
    play.report(first, "imported", "checked", now=1)
    play.supervisor.passed(1)
    play.save(2)
    play.report(play.children[1], "imported", "checked", now=3)
    play.supervisor.passed(SLOW)
    assert first.done[-1] == "go" and play.supervisor.patience(SLOW) == pytest.approx(1)
    play.supervisor.passed(1 + SLOW)
    assert first.done[-1] == "kill"


@pytest.mark.parametrize("stage", ["importing", "checking", "opening"])
def test_a_child_that_gives_no_sign_is_named(play: Play, said: list[str], stage: str) -> None:
    """A process that was stopped can't say where it is."""
    first = play.children[0]
    play.report(
        first, *{"importing": (), "checking": ("imported",), "opening": ("imported", "checked")}[stage]
    )
    assert first.stage.value == stage
    play.supervisor.passed(1)
    assert play.supervisor.patience(1) == pytest.approx(1.0)  # the next look at the files
    play.supervisor.passed(1 + SILENT)
    assert said[0].endswith("for a while now, and process 77 gives no sign of life; requests wait")
    play.supervisor.passed(100)
    assert len(said) == 1


def test_ctrl_c_ends_an_opening_that_hangs_at_once(play: Play) -> None:
    first = play.children[0]
    play.report(first, "imported", "checked", now=1)
    play.supervisor.passed(1)
    play.supervisor.asked(1 + SLOW)
    play.supervisor.passed(1 + SLOW)
    assert first.done[-2:] == ["end", "kill"]


def test_saves_that_come_faster_than_an_import_ends_do_not_put_it_off_for_ever(play: Play) -> None:
    play.serve(play.children[0])
    now, step = 5.0, 0.3
    while len(play.children) < 2 + MOST_RESTARTS:
        play.save(now)
        now += step
    last = play.children[-1]
    for _ in range(3):
        play.save(now)
        now += step
    assert play.children[-1] is last and last.stage is Stage.IMPORTING, "it is let finish"
    play.report(last, "imported", "checked", now=now)
    play.end(play.children[0], 0, now=now)
    play.report(last, "ready", now=now)
    play.supervisor.passed(now)
    assert play.supervisor.serving is last, "and serves"  # type: ignore[comparison-overlap]
    assert play.supervisor.coming is not None, "while the last save is imported"
    play.save(now + step)
    assert last.stage is Stage.SERVING and play.supervisor.coming is play.children[-1]  # type: ignore[comparison-overlap]


def test_an_import_that_is_let_finish_and_hangs_is_given_up_in_the_end(play: Play) -> None:
    play.serve(play.children[0])
    for n in range(1 + MOST_RESTARTS):
        play.save(5 + n)
    last = play.children[-1]
    play.save(10)
    assert play.children[-1] is last and (play.supervisor.patience(11) or 99) <= 1
    play.supervisor.passed(11 + HOPELESS)
    assert last.done[-2:] == ["kill", "close"] and play.children[-1] is not last


def test_a_broken_save_ends_the_row(play: Play) -> None:
    play.serve(play.children[0])
    for n in range(1 + MOST_RESTARTS):
        play.save(5 + n)
    play.report(play.children[-1], "failed")
    play.end(play.children[-1], 3)
    for n in range(MOST_RESTARTS):
        play.save(20 + n)
    before = len(play.children)
    play.save(30)
    assert len(play.children) == before + 1


# -- what is said ------------------------------------------------------------------------------------------


def about(*queues: str, actions: tuple[str, ...] = ()) -> Report:
    return {"queues": dict.fromkeys(queues), "actions": list(actions)}


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ({"shop": about("orders", actions=("total",))}, "code only"),
        (
            {"shop": about("orders", "returns"), "mail": about("out", actions=("send",))},
            "+queue shop.returns, +actor mail, -action shop.total",
        ),
        ({}, "-actor shop"),
        (
            {"shop": about("orders", *(f"queue{n}" for n in range(20)), actions=("total",))},
            "+queue shop.queue0, +queue shop.queue1, 18 more",
        ),
    ],
)
def test_a_reload_says_what_is_new(play: Play, said: list[str], after: Report, told: str) -> None:
    first, before = play.children[0], {"shop": about("orders", actions=("total",))}
    play.report(first, "imported", "checked", actors=before)
    play.report(first, "ready")
    play.save(5)
    play.report(play.children[1], "imported", "checked", actors=after)
    play.end(first, 0)
    play.report(play.children[1], "ready", now=15)
    assert said == [f"rivet: reloaded in 10.00 s: {told}"] and len(said[0]) <= 80


def test_a_reload_that_waits_for_actions_says_so(play: Play, said: list[str]) -> None:
    play.serve(play.children[0])
    play.save(5)
    play.report(play.children[1], "imported", "checked", now=6)
    play.report(play.children[0], "leaving", now=6)
    play.supervisor.heard(play.children[0], {"finishing": 2}, 7)  # type: ignore[arg-type]
    assert said == ["rivet: 2 actions and steps run: the new code waits for that, 10 s at most"]
    play.supervisor.passed(6 + GRACE)
    assert play.children[0].done[-1] == "leave", "it has that time besides its own"


BROKEN = {
    "broken": [
        {"name": "shop", "key": "a", "namespace": "eu", "location": "charge", "expected": "a step", "found": "a sleep",
         "site": "shop.py:7", "status": "diverged", "error": ""},
        {"name": "old", "key": "b", "namespace": None, "site": None, "status": "not_in_registry",
         "error": "No actor 'old'."},
    ],
    "count": 5,
    "whole": False,
}  # fmt: skip


@pytest.mark.parametrize("strict", [False, True])
def test_workflows_that_the_code_would_break_are_named(play: Play, said: list[str], strict: bool) -> None:
    play.supervisor.launch = dataclasses.replace(play.supervisor.launch, strict_replay=strict)
    first = play.children[0]
    play.serve(first)
    play.save(5)
    second = play.children[1]
    play.report(second, "imported")
    second.stage = Stage.STANDING_BY
    play.supervisor.heard(second, {"checked": BROKEN}, 6)  # type: ignore[arg-type]
    assert said[:3] == [
        "rivet: shop a (namespace eu) diverges at 'charge': the code asks for a step, "
        "the journal has a sleep (shop.py:7)",
        "rivet: old b can't go on: No actor 'old'.",
        "rivet: and 3 more",
    ]
    assert "rivet replay --all checks every one" in said[4]
    assert first.stage is (Stage.SERVING if strict else Stage.LEAVING)
    assert (second.done[-1] == "kill") is strict
    if strict:
        play.end(second, -9)
        play.save(7)
        assert len(said) == 6 and play.children[2].done == ["check", "import"]


def test_ctrl_c_ends_all_and_the_one_with_the_data_in_good_order(play: Play) -> None:
    first = play.children[0]
    play.serve(first)
    play.save(5)
    play.supervisor.asked(6)
    assert first.done[-1] == "end" and play.children[1].done[-1] == "kill"
    play.end(play.children[1], -9)
    play.save(7)
    assert not play.supervisor.over and len(play.children) == 2
    play.supervisor.asked(8)
    assert first.done[-1] == "kill"
    play.end(first, -9)
    assert play.supervisor.over
