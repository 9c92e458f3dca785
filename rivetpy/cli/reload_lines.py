"""What the parent of `rivet dev` has to say about its children, in words."""

from __future__ import annotations

import signal
from collections.abc import Iterator

from rivetpy.cli.launch import FINISHING, Report
from rivetpy.cli.process import Stage
from rivetpy.cli.text import near

#: Characters that the news of a reload may have: with what stands before them that is a line of 80.
WIDTH = 52
#: What a child is at where that may take for ever.
_DOING = {
    Stage.IMPORTING: "is being imported",
    Stage.CHECKING: "is being replayed over the running workflows",
    Stage.OPENING: "has the data and does not serve",
}


def slow_line(name: str, stage: Stage, site: str | None, silent: int | None = None) -> str:
    """A child takes long: what it is at, and the line of the user's code; or which process it is, when that is
    ``silent``."""
    doing = f"{name} {_DOING[stage]} for a while now"
    if silent is not None:
        return f"{doing}, and process {silent} gives no sign of life"
    return doing if site is None else f"{doing}, at {near(site)}"


def finishing_line(running: int) -> str:
    """The child that is to leave lets so many actions and steps end first."""
    who = "an action or a step runs" if running == 1 else f"{running} actions and steps run"
    return f"{who}: the new code waits for that, {FINISHING:g} s at most"


def news(before: Report, after: Report) -> str:
    """Which actors, queues and actions the new code has that the one before had not, and the other way round."""
    changes = [f"+{part}" for part in _only_in(after, before)]
    changes += [f"-{part}" for part in _only_in(before, after)]
    if not changes:
        return "code only"
    shown = len(changes)
    while shown > 1 and len(_listed(changes, shown)) > WIDTH:
        shown -= 1
    return _listed(changes, shown)


def _listed(changes: list[str], shown: int) -> str:
    rest = [f"{len(changes) - shown} more"] if shown < len(changes) else []
    return ", ".join(changes[:shown] + rest)


def _only_in(one: Report, other: Report) -> Iterator[str]:
    """What is in one report of actors and not in the other; of a new actor only its name."""
    for name, about in one.items():
        if name not in other:
            yield f"actor {name}"
            continue
        for word, many in (("queue", "queues"), ("action", "actions")):
            yield from (f"{word} {name}.{each}" for each in about[many] if each not in other[name][many])


def broken_lines(told: Report) -> Iterator[str]:
    """The workflows that the new code breaks, a line each, and what becomes of them."""
    for each in told["broken"]:
        who = f"{each['name']} {each['key']}"
        if each["namespace"] is not None:
            who += f" (namespace {each['namespace']})"
        if each["site"] is None:
            yield f"{who} can't go on: {each['error'] or each['status']}"
        else:
            yield (
                f"{who} diverges at {each['location']!r}: the code asks for {each['expected']}, "
                f"the journal has {each['found']} ({near(each['site'])})"
            )
    if more := told["count"] - len(told["broken"]):
        yield f"and {more} more"
    if told["count"]:
        yield "they pause until a save that fits, and all others go on; rivet history shows the ways out"
    if not told["whole"]:
        yield "not all running workflows could be checked in a second; rivet replay --all checks every one"


def how_it_ended(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
