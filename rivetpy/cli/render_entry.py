"""One entry: as a line while following, or with all it holds."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from rivetpy.cli import times
from rivetpy.cli.journal import BranchLine, Line
from rivetpy.cli.render_values import STYLES, error_lines, failure_lines, queues_text, status_text, value_text
from rivetpy.cli.terminal import clip, clip_left, unicode_out, wrap
from rivetpy.cli.text import json_text, visible
from rivetpy.wire.jsonvalue import JsonObject

#: Where an error stands below its entry: behind the time.
_UNDER = " " * 9


def entry_line(line: Line, width: int, now: int) -> Iterator[Text]:
    """What `--follow` prints: time, location, kind, status, value; errors under it."""
    at = line.completed_at or line.begun_at
    text = Text(f"{times.short(at, now)} ", "dim", end="\n", no_wrap=True)
    text.append(clip_left(line.location, width // 2), "bold")
    text.append(f" {line.kind} ").append(status_text(line), STYLES.get(status_text(line), ""))
    if line.attempts > 1:
        text.append(f" after {line.attempts} attempts")
    text.append(" " + clip(value_text(line, now), width))
    text.rstrip()
    text.truncate(width, overflow="ellipsis" if unicode_out() else "crop")
    yield text
    for error in error_lines(line):
        for part in wrap(error, width, _UNDER):
            yield Text(part, "red")


def entry_lines(line: Line, now: int) -> Iterator[Text]:
    """All that an entry holds, nothing cut."""
    yield Text(visible(line.location), "bold")
    for name, text in _facts(line, now):
        yield Text.assemble((f"{name:<12}", "dim"), text)
    if line.value is not None:
        yield Text("value", "dim")
        for text in json_text(line.value, 2).split("\n"):
            yield Text(f"  {visible(text)}")
    for branch in line.branches:
        yield from _branch(branch)
    if line.failure is not None:
        yield from _failure("error", line.failure)
    if line.rollback_failure is not None:
        yield from _failure("error of the rollback", line.rollback_failure)


def _facts(line: Line, now: int) -> Iterator[tuple[str, str]]:
    yield "kind", line.kind
    yield "status", line.status + (f" ({line.reason})" if line.reason not in {None, line.status} else "")
    if line.attempts:
        yield "attempts", str(line.attempts)
    if line.kind == "message":
        yield "queues", visible(queues_text(line.queues))
    for name, at in (
        ("created", line.created_at),
        ("started", line.started_at),
        ("completed", line.completed_at),
        ("rolled back", line.rolled_back_at),
    ):
        if at is not None:
            yield name, f"{times.full(at)} ({times.ago(at, now)})"
    if line.completed_at is not None:
        yield "took", times.span(line.completed_at - line.begun_at)
    for name, at in (("tries again", line.retry_at), ("deadline", line.deadline)):
        if at is not None:
            yield name, times.full(at) if line.completed_at else times.until(at, now)


def _branch(branch: BranchLine) -> Iterator[Text]:
    status = (branch.status, STYLES.get(branch.status, ""))
    yield Text.assemble(("branch ", "dim"), visible(branch.name), " ", status, ", the winner" * branch.won)
    if branch.value is not None:
        for text in json_text(branch.value, 2).split("\n"):
            yield Text(f"  {visible(text)}")
    if branch.failure is not None:
        yield from _failure(f"error of {visible(branch.name)}", branch.failure)


def _failure(title: str, failure: JsonObject) -> Iterator[Text]:
    yield Text(title, "dim")
    for text in failure_lines(failure):
        yield Text(f"  {visible(text)}", "red")
    for text in failure["traceback"].rstrip("\n").split("\n"):
        if text:
            yield Text(f"  {visible(text)}", "dim")
