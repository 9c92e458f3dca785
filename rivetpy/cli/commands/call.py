"""`rivet call`: call an action of an actor."""

from __future__ import annotations

from typing import Annotated

import typer

from rivetpy.cli import completing
from rivetpy.cli.arguments import ActorOption, JsonFlag, KeyOption
from rivetpy.cli.shared import Common, with_common


@with_common
def call(
    common: Common,
    action: Annotated[
        str,
        typer.Argument(
            metavar="ACTION", help="The action's name.", show_default=False, autocompletion=completing.actions
        ),
    ],
    args: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARGS", help="JSON or plain words; also @file.json and -.", show_default=False
        ),
    ] = None,
    actor: ActorOption = None,
    key: KeyOption = "main",
    as_json: JsonFlag = False,
) -> None:
    """Call an action; prints its result.

    The actor is found from the action's name, and made if need be. The result is JSON on one line anyway:
    --json is there because every command takes it.

    Example: rivet call add 1 --key org/room
    """
    from rivetpy.cli.sending import read_arguments
    from rivetpy.cli.source import open_engine
    from rivetpy.cli.target import ACTION, find_actor
    from rivetpy.cli.text import json_text
    from rivetpy.identity import parse_key
    from rivetpy.wire import jsonvalue

    values = read_arguments(args or [])
    with open_engine(common) as engine:
        name = find_actor(engine.metadata(), ACTION, action, actor)
        output = engine.call(engine.at(name, parse_key(key)), action, values)
        print(json_text(jsonvalue.to_json(output)))
