"""How a workflow stands: status, what it waits for, how it ended, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rich.text import Text

from rivetpy.cli import times
from rivetpy.cli.render_divergence import divergence
from rivetpy.cli.render_values import STYLES, failure_lines
from rivetpy.cli.terminal import clip, wrap
from rivetpy.cli.text import json_text
from rivetpy.wire.jsonvalue import JsonObject

_WAITS = {"message": "waits for a message", "sleep": "sleeps", "retry": "waits to try again"}
#: What a person can do about a workflow that does not go on by itself; ``{}`` is the actor.
_NEXT = {
    "failed": (
        "rivet recover {}  runs what failed again",
        "rivet rewind {} --to ENTRY  goes back further",
    ),
    "cancelled": ("rivet rewind {}  runs it again from the start",),
    "diverged": ("rivet replay {}  checks it against the code you are editing",),
}


def standing(actor: JsonObject, history: JsonObject, width: int, now: int) -> Iterator[Text]:
    """The lines over a history; the first names the status."""
    workflow = history.get("workflow")
    if not history["isWorkflowEnabled"] or workflow is None:
        yield Text("no workflow")
        return
    status, *waits = workflow["status"], *(wait_text(wait, now) for wait in workflow["waits"])
    title = Text.assemble("workflow ", (status.replace("_", " "), STYLES.get(status, "")))
    yield title.append(":" if waits else "")
    for wait in waits:
        for line in wrap(wait, width, "  "):
            yield Text(line)
    if workflow["error"] is not None:
        yield from _failure(status, workflow["error"], width)
    elif status == "completed":
        yield Text(clip(f"  output {json_text(workflow['output'])}", width))
    if workflow["rollbackError"] is not None:
        first, *causes = failure_lines(workflow["rollbackError"])
        yield from _wrapped([f"rollback failed: {first}", *causes], width)
    yield from _next(status, actor, width)


def wait_text(wait: JsonObject, now: int) -> str:
    """One thing a workflow waits for, in words."""
    text: str = _WAITS.get(wait["reason"]) or wait["reason"]
    if wait["reason"] == "message":
        text += f" of {' or '.join(wait['queues'])}" if wait.get("queues") else " of any queue"
    if wait.get("deadline") is not None:
        text += f" until {times.until(wait['deadline'], now)}"
    return f"{text}, at {wait['location']}"


def _failure(status: str, failure: JsonObject, width: int) -> Iterator[Text]:
    told = failure["metadata"]
    twice = failure["type"] == "UsedTwiceError"  # no change of the code, so none of those ways out
    if status == "diverged" and isinstance(told, dict) and "expected" in told and not twice:
        return divergence(told, width)
    return _wrapped(failure_lines(failure), width)


def _wrapped(texts: Iterator[str] | list[str], width: int) -> Iterator[Text]:
    for text in texts:
        for line in wrap(text, width, "  "):
            yield Text(line, "red")


def _next(status: str, actor: JsonObject, width: int) -> Iterator[Text]:
    who = f"{shlex.quote(actor['name'])} {shlex.quote(actor['key'] or '/')}"
    for text in _NEXT.get(status, ()):
        for line in wrap(text.replace("{}", who), width, "  "):
            yield Text(line, "dim")
