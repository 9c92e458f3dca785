"""Changing how an actor's workflow goes on: rewind, undo, recover, cancel, and waking and putting away."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from rivetpy.cli.asking import confirm
from rivetpy.cli.problems import Problem
from rivetpy.cli.shared import Common
from rivetpy.cli.source import open_engine, require
from rivetpy.cli.telling import tell
from rivetpy.cli.text import visible, who
from rivetpy.wire.jsonvalue import JsonObject

#: So many locations are listed; the rest is a number.
LISTED = 12


@dataclass(frozen=True, slots=True)
class Rewinding:
    """How far back, whether to ask or only to look, and how to tell."""

    to: str | None
    yes: bool
    dry_run: bool
    as_json: bool


def rewind_workflow(common: Common, actor: str, key: str, wanted: Rewinding) -> None:
    """Show what a rewind removes and runs again, ask, and do it."""
    with open_engine(common) as engine:
        found = require(engine, actor, key)
        plan = engine.workflow(found["actor_id"], "rewind", location=wanted.to, dryRun=True)
        goes = {name: plan[name] for name in ("removed", "runsAgain", "returnedMessages")}
        sentences = list(_planned(plan, wanted.to))
        if wanted.dry_run:
            tell("plan", *sentences, as_json=wanted.as_json, actor=found, **goes)
            return
        print(*map(visible, sentences), sep="\n", file=sys.stderr if wanted.as_json else sys.stdout)
        confirm(f"Rewind {who(found)}?", wanted.yes)
        engine.workflow(found["actor_id"], "rewind", location=wanted.to)
        done = f"rewound {who(found)}; back again: rivet rewind {who(found)} --undo"
        tell("rewind", done, as_json=wanted.as_json, actor=found, **goes)


def undo_rewind(common: Common, actor: str, key: str, yes: bool, as_json: bool) -> None:
    """Bring back the journal from before the last rewind, after asking."""
    with open_engine(common) as engine:
        found = require(engine, actor, key)
        confirm(f"Undo the last rewind of {who(found)}? What was recorded since then goes.", yes)
        _tell("undo", "undid the last rewind of", found, engine.workflow(found["actor_id"], "undo"), as_json)


def recover_workflow(common: Common, actor: str, key: str, as_json: bool) -> None:
    """Give what failed a workflow another chance."""
    with open_engine(common) as engine:
        found = require(engine, actor, key)
        _tell("recover", "recovered", found, engine.workflow(found["actor_id"], "recover"), as_json)


def cancel_workflow(common: Common, actor: str, key: str, yes: bool, as_json: bool) -> None:
    """End a workflow for good, after asking."""
    with open_engine(common) as engine:
        found = require(engine, actor, key)
        confirm(f"Cancel the workflow of {who(found)} for good, without rolling back?", yes)
        engine.workflow(found["actor_id"], "cancel")
        tell("cancel", f"cancelled {who(found)}", as_json=as_json, actor=found)


def wake_actor(common: Common, actor: str, key: str, as_json: bool) -> None:
    """Bring an actor into memory."""
    with open_engine(common) as engine:
        found = require(engine, actor, key)
        engine.wake(found["actor_id"])
        tell("wake", f"woke {who(found)}", as_json=as_json, actor=found)


def put_actor_to_sleep(common: Common, actor: str, key: str, as_json: bool) -> None:
    """Put an actor away until something comes for it."""
    with open_engine(common) as engine:
        found = require(engine, actor, key)
        engine.sleep(found["actor_id"])
        tell("sleep", f"put {who(found)} to sleep", as_json=as_json, actor=found)


def _tell(did: str, what: str, found: JsonObject, answer: JsonObject, as_json: bool) -> None:
    status = str(answer["workflowState"]).replace("_", " ")
    if status == "failed":
        raise Problem(f"{what} {who(found)}, and its workflow failed again. Why: rivet history {who(found)}")
    sentence = f"{what} {who(found)}; its workflow is {status}"
    tell(did, sentence, as_json=as_json, actor=found, workflowStatus=answer["workflowState"])


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
