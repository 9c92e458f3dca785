"""`rivet watch`: an actor's events, as they are broadcast."""

from __future__ import annotations

from typing import Annotated

import typer

from rivetpy.cli import completing
from rivetpy.cli.arguments import JsonFlag, KeyText, Name
from rivetpy.cli.shared import Common, with_common


@with_common
def watch(
    common: Common,
    actor: Name,
    key: KeyText = "main",
    event: Annotated[
        list[str] | None,
        typer.Option(
            "--event",
            metavar="NAME",
            help="Only this event; may be given several times.",
            show_default=False,
            autocompletion=completing.events,
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Print events as they are broadcast.

    Connects to the actor like any client, which wakes it, and goes on until Ctrl-C; a connection that breaks is
    opened again. All events the actor declares are printed, each with its arguments as JSON.

    Example: rivet watch counter main --event changed
    """
    from rivetpy.cli.eventwatch import watch_events

    watch_events(common, actor, key, event or [], as_json)
