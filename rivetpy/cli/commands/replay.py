"""`rivet replay`: do recorded journals fit the code as it is now?"""

from __future__ import annotations

from typing import Annotated

import typer

from rivetpy.cli import completing
from rivetpy.cli.arguments import JsonFlag, KeyText
from rivetpy.cli.shared import Common, with_common


@with_common
def replay(
    common: Common,
    actor: Annotated[
        str | None,
        typer.Argument(
            metavar="ACTOR", help="The actor's name.", show_default=False, autocompletion=completing.actors
        ),
    ] = None,
    key: KeyText = "main",
    every: Annotated[bool, typer.Option("--all", help="Check all actors, or all of the name ACTOR.")] = False,
    failed: Annotated[
        bool,
        typer.Option(
            "--failed", help="With --all: also those that failed, which a recover would bring back."
        ),
    ] = False,
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="FILE", help="Check an exported actor.", show_default=False),
    ] = None,
    registry: Annotated[
        str | None,
        typer.Option(
            metavar="REGISTRY",
            help="The code: a file, module or module:name.",
            show_default="the registry here",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Check journals against the code as it is now.

    Replays what is recorded, with or without an engine; runs no step, writes nothing. Ends with 1 when any
    diverges: made for the question whether new code can be shipped over running workflows. What completed or
    was cancelled goes on no more, whatever the code is, and is passed over.

    Example: rivet replay --all --registry registry.py
    """
    from rivetpy.cli.problems import UsageProblem
    from rivetpy.cli.replaying import Wanted, replay_journals

    if file is not None and (actor is not None or every):
        raise UsageProblem("--file holds the one actor to check; leave out ACTOR and --all")
    if actor is None and not every and file is None:
        raise UsageProblem("Name an actor, or check all: rivet replay --all")
    one = None if every or file else key
    replay_journals(common, Wanted(actor, one, registry, failed or not every, as_json, file))
