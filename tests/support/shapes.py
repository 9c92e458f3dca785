"""Journals of every shape, as values: what the terminal's goldens show. All times hang on NOW."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from rivetpy import codec
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

NOW = 1_800_000_000_000  # 2027-01-15 08:00:00 UTC
DAY = 86_400_000
ROW = ActorRow("abcd" * 7 + "00", "default", "workflowCounter", ("main",), NOW - 3 * DAY)
WIDE = "日本語テキスト🎉"
HOSTILE = "[red]x[/]\x1b[2J\x07\u202e\r\n"


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


def retrying() -> ActorView:
    """A step between attempts, one at work in its third, and one that came through in the end."""
    entries: list[Entry] = [
        step("fetch", 1, attempts=3, output=codec.encode("at last")),
        step("charge", 2, Status.PENDING, failure=failure(), retry_at=NOW + 1500, attempts=2, output=None),
        step("ship", 3, Status.PENDING, started_at=NOW - 12_000, attempts=3, output=None),
    ]
    return view(entries, "running", (WaitView("retry", "charge", NOW + 1500),))


def trial() -> ActorView:
    """A month of sleep between two moments of work."""
    begun = NOW - 40 * DAY
    entries: list[Entry] = [
        received("wait-order", 1, {"sku": "b-7", "count": 2}),
        step("charge", 2, output=codec.encode("receipt 81")),
        SleepEntry("trial", 3, Status.COMPLETED, begun + 3000, begun + 30 * DAY, deadline=begun + 30 * DAY),
        SleepEntry("notice", 4, Status.PENDING, begun + 30 * DAY, deadline=NOW + 5 * DAY),
    ]
    for n, entry in enumerate(entries[:2]):
        entry.created_at, entry.completed_at = begun + n * 1000, begun + n * 1000 + 900
    assert isinstance(entries[1], StepEntry)
    entries[1].started_at = entries[1].created_at
    return view(entries, waits=(WaitView("sleep", "notice", NOW + 5 * DAY),))


def wide() -> ActorView:
    """A join of a hundred branches, one of which failed and ninety of which wait."""
    branches = {f"page-{n}": Branch(Status.COMPLETED, codec.encode(n)) for n in range(100)}
    branches["page-60"] = Branch(Status.FAILED, failure=failure())
    entries: list[Entry] = [JoinEntry("pages", 1, Status.RUNNING, NOW - 9000, branches=branches)]
    for n, (name, branch) in enumerate(branches.items()):
        if n >= 90:
            branch.status, branch.output = Status.PENDING, None
            entries.append(waiting(f"pages/{name}/approval", n + 2))
        elif n != 60:
            entries.append(step(f"pages/{name}/fetch", n + 2, output=codec.encode(n)))
    waits = tuple(WaitView("message", e.location, None, ("counter",)) for e in entries[-10:])
    return view(entries, waits=waits)


def huge(iterations: int = 2_000) -> ActorView:
    """Two entries an iteration of a loop that kept them all, and a row of half as many steps."""
    entries: list[Entry] = [loop("counter-loop", 1, iterations)]
    for n in range(iterations):
        entries.append(received(f"counter-loop/~{n}/wait", 3 * n, {"delta": n}))
        entries.append(step(f"counter-loop/~{n}/apply", 3 * n + 1, attempts=2 if n == 7 else 1))
    bad = entries[2 * 150]
    assert isinstance(bad, StepEntry)
    bad.status, bad.output, bad.failure = Status.FAILED, None, failure()
    row = range(iterations // 2 - 2)
    entries += [step(f"row-{n}", 3 * iterations + 1 + n, output=codec.encode(n)) for n in row]
    begun = NOW - 60_000 - len(entries)
    for n, entry in enumerate(entries[1:]):  # one a millisecond, the last one a minute ago
        entry.created_at = begun + n
        entry.completed_at = entry.created_at + 1
        if isinstance(entry, StepEntry):
            entry.started_at = entry.created_at
    last = f"counter-loop/~{iterations}/wait"
    entries.append(waiting(last, 4 * iterations))
    return view(entries, waits=(WaitView("message", last, None, ("counter",)),))


def chained() -> ActorView:
    """An error raised from another, raised from a third, of a group of two."""
    third = Failure("ConnectionRefusedError", "builtins", "[Errno 111] Connection refused")
    other = Failure(
        "TimeoutError", "builtins", "no answer within 5 s from the second of all the hosts that were tried"
    )
    second = Failure(
        "ExceptionGroup", "builtins", "every host failed (2 sub-exceptions)", causes=(third, other)
    )
    first = Failure(
        "PaymentError", "shop", "could not charge card 4242", causes=(second,), location="pay/~2/charge"
    )
    exhausted = Failure(
        "StepExhaustedError",
        "rivetpy",
        "Step 'charge' failed 4 times: PaymentError: could not charge card 4242",
        causes=(first,),
    )
    entries: list[Entry] = [
        loop("pay", 1, 2),
        step(
            "pay/~2/charge", 2, Status.EXHAUSTED, attempts=4, output=None, failure=first, reason="exhausted"
        ),
    ]
    return view(entries, "failed", error=exhausted)


def evicted() -> ActorView:
    """An actor that sleeps while its workflow waits for a message or a moment."""
    entries: list[Entry] = [waiting("next", 1, deadline=NOW + 3_600_000)]
    seen = view(entries, waits=(WaitView("message", "next", NOW + 3_600_000, ("counter", "control")),))
    return dataclasses.replace(seen, awake=False)


SHAPES = {
    shape.__name__: shape
    for shape in (
        *(
            counting,
            failing,
            nested,
            hostile,
            finished,
            fresh,
            branched,
            undone,
            rolling,
            cancelled,
            diverged,
        ),
        *(retrying, trial, wide, huge, chained, evicted),
    )
}
