"""How a workflow stands: status, what it waits for, how it ended, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from rich.text import Text

from rivetpy.cli import times
from rivetpy.cli.journal import Line
from rivetpy.cli.render_divergence import divergence
from rivetpy.cli.render_values import STYLES, failure_lines, queues_text
from rivetpy.cli.terminal import clip, wrap
from rivetpy.cli.text import json_text
from rivetpy.wire.jsonvalue import JsonObject

_WAITS = {
    "message": "waits for a message",
    "sleep": "sleeps",
    "retry": "waits to try again",
    "step": "runs a step",
}
#: What a person can do about a workflow that does not go on by itself; ``{}`` is the actor.
_NEXT = {
    "failed": (
        "rivet recover {}  runs what failed again: save the fix first",
        "rivet rewind {} --to ENTRY  goes back to an entry above",
    ),
    "cancelled": ("rivet fork {} NEWKEY --at ENTRY  goes on in a copy",),
    "diverged": ("rivet replay {}  checks it against the code you are editing",),
}
#: So many things it waits for are told; a join may have hundreds.
MANY_WAITS = 5


def standing(
    actor: JsonObject, history: JsonObject, lines: Sequence[Line], width: int, now: int
) -> Iterator[Text]:
    """The lines over a history; the first names the actor and the status."""
    workflow = history.get("workflow")
    if not history["isWorkflowEnabled"] or workflow is None:
        yield _title(actor, "no workflow", "", "", width)
        return
    status = workflow["status"]
    yield _title(actor, "workflow ", status.replace("_", " "), STYLES.get(status, ""), width)
    yield from _waits(workflow["waits"], lines, width, now)
    if workflow["error"] is not None:
        yield from _failure(status, workflow["error"], width)
    elif status == "completed":
        yield Text(clip(f"  output {json_text(workflow['output'])}", width))
    if workflow["rollbackError"] is not None:
        first, *causes = failure_lines(workflow["rollbackError"])
        yield from _wrapped([f"rollback failed: {first}", *causes], width)
    yield from _next(status, actor, width)


def _title(actor: JsonObject, what: str, status: str, style: str, width: int) -> Text:
    name = clip(f"{actor['name']} {actor['key']}", width - len(what + status) - 2)
    return Text.assemble((f"{name}: ", "bold"), what, (status, style))


def _waits(waits: list[JsonObject], lines: Sequence[Line], width: int, now: int) -> Iterator[Text]:
    """What it waits for, and the steps it is in; what it waits for in several places is told once."""
    begun = {line.location: line.begun_at for line in lines if line.stands}
    places: dict[str, list[str]] = {}
    for wait in waits:
        places.setdefault(wait_text(wait, begun.get(wait["location"]), now), []).append(wait["location"])
    for line in lines:
        if line.working:
            told = f"runs a step for {times.span(now - line.begun_at)}, attempt {line.attempts}"
            places.setdefault(told, []).append(line.location)
    for told in list(places)[:MANY_WAITS]:
        for text in wrap(f"{told}, at {_some(places[told])}", width, "  "):
            yield Text(text)
    if len(places) > MANY_WAITS:
        yield Text(f"  and {len(places) - MANY_WAITS} more")


def _some(places: list[str]) -> str:
    """The first few."""
    more = len(places) - MANY_WAITS
    return ", ".join(places[:MANY_WAITS]) + (f" and {more} more places" if more > 0 else "")


def wait_text(wait: JsonObject, since: int | None, now: int) -> str:
    """What a workflow waits for, in words; ``since`` is when it began to, in epoch ms."""
    text: str = _WAITS.get(wait["reason"]) or wait["reason"]
    if wait["reason"] == "message":
        text += f" of {queues_text(wait['queues'])}"
    if wait["deadline"] is not None:
        return f"{text} until {times.until(wait['deadline'], now)}"
    return text if since is None else f"{text} for {times.span(now - since)}"


def _failure(status: str, failure: JsonObject, width: int) -> Iterator[Text]:
    told = failure["metadata"]
    twice = failure["type"] == "UsedTwiceError"  # no change of the code, so none of those ways out
    if status == "diverged" and isinstance(told, dict) and "expected" in told and not twice:
        return divergence(told, width)
    place = _place(failure)
    return _wrapped([*([] if place is None else [f"at {place}"]), *failure_lines(failure)], width)


def _place(failure: JsonObject) -> str | None:
    """The entry a failure comes from."""
    location: str | None = failure["location"]
    return location or next(filter(None, map(_place, failure["causes"])), None)


def _wrapped(texts: Iterator[str] | list[str], width: int) -> Iterator[Text]:
    for text in texts:
        for line in wrap(text, width, "  "):
            yield Text(line, "red")


def _next(status: str, actor: JsonObject, width: int) -> Iterator[Text]:
    who = f"{shlex.quote(actor['name'])} {shlex.quote(actor['key'] or '/')}"
    for text in _NEXT.get(status, ()):
        for line in wrap(text.replace("{}", who), width, "  "):
            yield Text(line, "dim")
