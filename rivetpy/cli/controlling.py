"""Changing how an actor's workflow goes on: rewind, undo, recover, cancel, and waking and putting away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rivetpy.cli.asking import confirm
from rivetpy.cli.problems import Problem
from rivetpy.cli.shared import Common
from rivetpy.cli.source import open_engine, require
from rivetpy.cli.text import visible, who
from rivetpy.wire.jsonvalue import JsonObject

#: So many locations are listed; the rest is a number.
LISTED = 12


@dataclass(frozen=True, slots=True)
class Rewinding:
    """How far back, and whether to ask or only to look."""

    to: str | None
    yes: bool
    dry_run: bool


def rewind_workflow(common: Common, actor: str, key: str, wanted: Rewinding) -> None:
    """Show what a rewind removes and runs again, ask, and do it."""
    with open_engine(common) as engine:
        found = require(engine, actor, key)
        plan = engine.workflow(found["actor_id"], "rewind", location=wanted.to, dryRun=True)
        for line in _planned(plan, wanted.to):
            print(visible(line))
        if wanted.dry_run:
            return
        confirm(f"Rewind {who(found)}?", wanted.yes)
        engine.workflow(found["actor_id"], "rewind", location=wanted.to)
        print(visible(f"rewound {who(found)}; back again: rivet rewind {who(found)} --undo"))


def undo_rewind(common: Common, actor: str, key: str, yes: bool) -> None:
    """Bring back the journal from before the last rewind, after asking."""
    with open_engine(common) as engine:
        found = require(engine, actor, key)
        confirm(f"Undo the last rewind of {who(found)}? What was recorded since then goes.", yes)
        _tell(found, "undid the last rewind of", engine.workflow(found["actor_id"], "undo"))


def recover_workflow(common: Common, actor: str, key: str) -> None:
    """Give what failed a workflow another chance."""
    with open_engine(common) as engine:
        found = require(engine, actor, key)
        _tell(found, "recovered", engine.workflow(found["actor_id"], "recover"))


def cancel_workflow(common: Common, actor: str, key: str, yes: bool) -> None:
    """End a workflow for good, after asking."""
    with open_engine(common) as engine:
        found = require(engine, actor, key)
        confirm(f"Cancel the workflow of {who(found)} for good, without rolling back?", yes)
        engine.workflow(found["actor_id"], "cancel")
        print(visible(f"cancelled {who(found)}"))


def wake_actor(common: Common, actor: str, key: str) -> None:
    """Bring an actor into memory."""
    with open_engine(common) as engine:
        found = require(engine, actor, key)
        engine.wake(found["actor_id"])
        print(visible(f"woke {who(found)}"))


def put_actor_to_sleep(common: Common, actor: str, key: str) -> None:
    """Put an actor away until something comes for it."""
    with open_engine(common) as engine:
        found = require(engine, actor, key)
        engine.sleep(found["actor_id"])
        print(visible(f"put {who(found)} to sleep"))


def _tell(found: JsonObject, what: str, answer: JsonObject) -> None:
    status = str(answer["workflowState"]).replace("_", " ")
    if status == "failed":
        raise Problem(f"{what} {who(found)}, and its workflow failed again. Why: rivet history {who(found)}")
    print(visible(f"{what} {who(found)}; its workflow is {status}"))


def _planned(plan: JsonObject, to: str | None) -> Iterator[str]:
    removed, again, returned = plan["removed"], plan["runsAgain"], plan["returnedMessages"]
    where = "from the start" if to is None else f"from {to} on"
    yield f"{_count(len(removed), 'entry goes', 'entries go')}, {where}"
    if again:
        yield "completed steps that run again:"
        yield from (f"  {location}" for location in again[:LISTED])
        if len(again) > LISTED:
            yield f"  and {len(again) - LISTED} more"
    else:
        yield "no completed step runs again"
    if returned:
        yield f"{_count(returned, 'message goes', 'messages go')} back into the queue"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
