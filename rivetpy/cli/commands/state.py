"""`rivet state`: show an actor's state, or change parts of it."""

from __future__ import annotations

from typing import Annotated

import typer

from rivetpy.cli.shared import Common, JsonFlag, KeyText, Name, with_common


@with_common
def state(
    common: Common,
    actor: Name,
    key: KeyText = "main",
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=JSON", help="Change a part, as items[2].price=9.5."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show or change an actor's state."""
    from rivetpy.cli.problems import Problem
    from rivetpy.cli.source import open_engine, open_source, require
    from rivetpy.cli.statepath import parse_assignment
    from rivetpy.cli.text import json_text

    changes = [parse_assignment(text) for text in assignments or []]
    if changes:
        with open_engine(common) as engine:
            found = require(engine, actor, key)["actor_id"]
            value = engine.inspect(found, "state")["state"]
            for change in changes:
                value = change.apply(value)
            engine.set_state(found, value)
    else:
        with open_source(common) as source:
            answer = source.inspect(require(source, actor, key)["actor_id"], "state")
        if not answer["isStateEnabled"]:
            raise Problem(f"The actor {actor!r} has no state")
        value = answer["state"]
    print(json_text(value, None if as_json else 2))
