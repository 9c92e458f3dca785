"""What an entry holds, or what it waits for, in a few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from rivetpy.cli import times
from rivetpy.cli.journal import BranchLine, Line
from rivetpy.cli.text import json_text, near
from rivetpy.wire.jsonvalue import Json, JsonObject
from rivetpy.workflow.failure import site_of

STYLES = {
    "completed": "green",
    "running": "cyan",
    "pending": "yellow",
    "sleeping": "cyan",
    "rolling_back": "yellow",
    "rolled back": "magenta",
    "failed": "red",
    "exhausted": "red",
    "diverged": "red",
    "interrupted": "magenta",
    "cancelled": "magenta",
}


def status_text(line: Line) -> str:
    """How far an entry is; what was undone is no longer simply completed."""
    if line.rolled_back_at is not None:
        return "rolled back"
    return "running" if line.working else line.status


def kind_text(line: Line) -> str:
    """The kind, short enough for a column."""
    return line.kind.removeprefix("rollback_")


def value_text(line: Line, now: int) -> str:
    """What an entry holds, or what it waits for."""
    if line.rolled_back_at is not None:
        was = "" if line.value is None else f", was {json_text(line.value)}"
        return f"at {times.short(line.rolled_back_at, now).strip()}{was}"
    if line.working:
        return ""
    if line.status == "pending" and line.retry_at is not None:
        return f"tries again {times.ahead(line.retry_at, now)}"
    if line.status == "pending" and line.deadline is not None:
        return f"{'wakes' if line.kind == 'sleep' else 'gives up'} {times.ahead(line.deadline, now)}"
    match line.kind:
        case "sleep":
            return f"until {times.short(line.deadline, now).strip()}" if line.deadline is not None else ""
        case "loop" if line.status == "running":
            return f"iteration {line.iteration}" + (
                "" if line.value is None else f", state {_json(line.value)}"
            )
        case "message":
            return _messages(line)
        case "join" | "race":
            return _branches(line)
        case "block" if line.reason is not None:
            return "caught what it raised" if line.reason == "block" else f"caught a failed {line.reason}"
        case "version":
            return _version(line.value)
    return _json(line.value)


def branch_text(branch: BranchLine) -> str:
    """What a branch came to."""
    value = _json(branch.value)
    return f"winner {value}".rstrip() if branch.won else value


def failure_lines(failure: JsonObject) -> Iterator[str]:
    """An error with where it was raised, and what caused it, a line each."""
    site = _site(failure)
    yield _error_text(failure) + ("" if site is None else f" ({near(site)})")
    yield from _cause_lines(failure, 1)


def _cause_lines(failure: JsonObject, depth: int) -> Iterator[str]:
    """The causes; one that the message above ends with is not told twice."""
    for cause in failure["causes"]:
        text = _error_text(cause)
        if failure["message"].endswith(text):
            yield from _cause_lines(cause, depth)
        else:
            yield f"{'  ' * depth}caused by {text}"
            yield from _cause_lines(cause, depth + 1)


def _error_text(failure: JsonObject) -> str:
    return f"{failure['type']}: {failure['message']}" if failure["message"] else str(failure["type"])


def _site(failure: JsonObject) -> str | None:
    """file:line of the user code that raised the first cause, as far as it is known."""
    return next(filter(None, map(_site, failure["causes"])), None) or site_of(failure["traceback"])


def error_lines(line: Line) -> Iterator[str]:
    """Why an entry failed, and why undoing it did."""
    if line.failure is not None:
        yield from failure_lines(line.failure)
    if line.rollback_failure is not None:
        first, *causes = failure_lines(line.rollback_failure)
        yield f"rollback failed: {first}"
        yield from causes


def queues_text(queues: Iterable[str] | None) -> str:
    """What a wait listens to."""
    return "any queue" if queues is None else " or ".join(queues)


def _json(value: Json) -> str:
    return "" if value is None else json_text(value)


def _messages(line: Line) -> str:
    if line.value is None:
        return "nothing came in time" if line.status == "completed" else f"for {queues_text(line.queues)}"
    messages = line.value if isinstance(line.value, list) else [line.value]
    return ", ".join(f"{m['name']} {json_text(m['body'])}" for m in messages if isinstance(m, dict))


def _branches(line: Line) -> str:
    """Who won a race; else how many branches are how far, when they are not all completed."""
    if line.winner is not None:
        return f"won by {line.winner}"
    counts = Counter(branch.status for branch in line.branches)
    if set(counts) == {"completed"}:
        return f"{len(line.branches)} branches"
    return ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))


def _version(value: Json) -> str:
    assert isinstance(value, dict)
    resolved, latest = value["resolved"], value["latest"]
    return f"version {resolved}" + (f" of {latest}" if resolved != latest else "")
