"""`rivet queue`: the messages that wait for an actor."""

from __future__ import annotations

from typing import Annotated

import typer

from rivetpy.cli import completing
from rivetpy.cli.arguments import JsonFlag, KeyText, Name, Yes
from rivetpy.cli.shared import Common, with_common


@with_common
def queue(
    common: Common,
    actor: Name,
    key: KeyText = "main",
    drop: Annotated[
        list[int] | None,
        typer.Option(
            "--drop",
            metavar="ID",
            help="Remove this message.",
            show_default=False,
            autocompletion=completing.messages,
        ),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove all of them.")] = False,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """List or remove waiting messages.

    Oldest first. Removing all of them asks first; what a workflow has received but not completed stays.

    Example: rivet queue counter main --drop 7
    """
    from rivetpy.cli.queueing import clear_queue, drop_messages, list_queue

    if clear and drop:
        from rivetpy.cli.problems import UsageProblem

        raise UsageProblem("--clear removes all messages, --drop only some; use one of them")
    if clear:
        clear_queue(common, actor, key, yes, as_json)
    elif drop:
        drop_messages(common, actor, key, drop, as_json)
    else:
        list_queue(common, actor, key, as_json)
