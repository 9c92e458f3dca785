"""`rivet rewind`: go back in a workflow's journal, and run again from there."""

from __future__ import annotations

from typing import Annotated

import typer

from rivetpy.cli import completing
from rivetpy.cli.arguments import JsonFlag, KeyText, Name, Yes
from rivetpy.cli.shared import Common, with_common


@with_common
def rewind(
    common: Common,
    actor: Name,
    key: KeyText = "main",
    to: Annotated[
        str | None,
        typer.Option(
            metavar="ENTRY",
            help="The first entry to go, as in the history.",
            show_default="from the start",
            autocompletion=completing.entries,
        ),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Bring back what the last rewind removed.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would run again.")] = False,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """Go back in a workflow and run again.

    Removes an entry and every later one; shows what will run again and asks first. The actor's state stays
    as it is.

    Example: rivet rewind invoice main --to main-loop/~3/charge
    """
    from rivetpy.cli.controlling import Rewinding, rewind_workflow, undo_rewind
    from rivetpy.cli.problems import UsageProblem

    if undo and (to is not None or dry_run):
        raise UsageProblem("--undo takes back the whole last rewind; leave out --to and --dry-run")
    if undo:
        undo_rewind(common, actor, key, yes, as_json)
    else:
        rewind_workflow(common, actor, key, Rewinding(to, yes, dry_run, as_json))
