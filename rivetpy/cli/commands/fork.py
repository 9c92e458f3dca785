"""`rivet fork`: copy an actor, to try something on."""

from __future__ import annotations

from typing import Annotated

import typer

from rivetpy.cli import completing
from rivetpy.cli.arguments import JsonFlag, Name
from rivetpy.cli.shared import Common, with_common


@with_common
def fork(
    common: Common,
    actor: Name,
    key: Annotated[
        str,
        typer.Argument(metavar="KEY", help="Its key.", show_default=False, autocompletion=completing.keys),
    ],
    new_key: Annotated[str, typer.Argument(metavar="NEWKEY", help="The copy's key.", show_default=False)],
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="ENTRY",
            help="As it was before this entry, as in the history.",
            show_default=False,
            autocompletion=completing.entries,
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Copy an actor to another key, to try something on.

    With its journal, state, queue, values by key and database; not with the calls to come that the original
    makes (schedule, cron). The copy sleeps until something comes for it: then it goes on as the original would,
    steps, timers and messages, so wake it only where that does no harm twice.

    Example: rivet fork invoice main test --at main-loop/~3/charge
    """
    from rivetpy.cli.copying import fork_actor

    fork_actor(common, actor, key, new_key, at, as_json)
