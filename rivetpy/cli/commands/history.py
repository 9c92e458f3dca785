"""`rivet history`: an actor's journal."""

from __future__ import annotations

from typing import Annotated

import typer

from rivetpy.cli import completing
from rivetpy.cli.arguments import JsonFlag, KeyText, Name
from rivetpy.cli.shared import Common, with_common


@with_common
def history(
    common: Common,
    actor: Name,
    key: KeyText = "main",
    as_json: JsonFlag = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Stay, and show what comes until the workflow ends.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the last so many entries.", show_default=False)
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show all entries, folding none.")] = False,
    entry: Annotated[
        str | None,
        typer.Option(
            metavar="LOC",
            help="Show one place with all it holds.",
            show_default=False,
            autocompletion=completing.entries,
        ),
    ] = None,
) -> None:
    """Show an actor's journal as a tree.

    Over it stands what the workflow waits for, or why it failed; a mark leads to that place. Long rows of what
    went well, and older iterations of a loop, are folded into one line with counts.

    Example: rivet history counter main --follow
    """
    from rivetpy.cli.historian import View, show_entry, show_history
    from rivetpy.cli.problems import UsageProblem
    from rivetpy.cli.source import open_source, require

    if follow and entry is not None:
        raise UsageProblem("--follow shows entries as they come, --entry only one; use one of them")
    with open_source(common) as source:
        view = View(source, require(source, actor, key), common.color, as_json)
        if entry is not None:
            show_entry(view, entry)
        elif follow:
            from rivetpy.cli.following import follow_history

            follow_history(common, view, limit, full)
        else:
            show_history(view, limit, full)
