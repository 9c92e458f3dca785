"""`rivet state`: show an actor's state, or change it."""

from __future__ import annotations

from typing import Annotated

import typer

from rivetpy.cli.arguments import JsonFlag, KeyText, Name
from rivetpy.cli.shared import Common, with_common


@with_common
def state(
    common: Common,
    actor: Name,
    key: KeyText = "main",
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=JSON", help="Change a part, as items[2].price=9.5."),
    ] = None,
    edit: Annotated[
        bool, typer.Option("--edit", help="Change it in your editor ($VISUAL, $EDITOR, else vi).")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show or change an actor's state.

    A change is checked as the actor's own are, and refused when somebody else changed the state meanwhile.

    Example: rivet state counter main --set value=5
    """
    from rivetpy.cli.problems import Problem, UsageProblem
    from rivetpy.cli.source import open_source, require
    from rivetpy.cli.text import json_text

    if edit and assignments:
        raise UsageProblem("--edit opens the whole state, --set changes parts; use one of them")
    if edit or assignments:
        from rivetpy.cli.editing import edit_state, set_parts
        from rivetpy.cli.statepath import parse_assignment

        changes = [parse_assignment(text) for text in assignments or []]
        value = set_parts(common, actor, key, changes) if changes else edit_state(common, actor, key)
    else:
        with open_source(common) as source:
            answer = source.inspect(require(source, actor, key)["actor_id"], "state")
        if not answer["isStateEnabled"]:
            raise Problem(f"The actor {actor!r} has no state")
        value = answer["state"]
    print(json_text(value, None if as_json else 2))
