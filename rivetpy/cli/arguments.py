"""The arguments and options that several commands have, written once."""

from __future__ import annotations

from typing import Annotated

import typer

from rivetpy.cli import completing

Name = Annotated[
    str,
    typer.Argument(
        metavar="ACTOR", help="The actor's name.", show_default=False, autocompletion=completing.actors
    ),
]
KeyText = Annotated[
    str,
    typer.Argument(
        metavar="KEY",
        help=r"Its key; a compound one as org/room, \/ for a slash in a part.",
        autocompletion=completing.keys,
    ),
]
KeyOption = Annotated[
    str,
    typer.Option(
        "--key",
        metavar="KEY",
        help=r"The actor's key; a compound one as org/room.",
        autocompletion=completing.keys,
    ),
]
ActorOption = Annotated[
    str | None,
    typer.Option(
        "--actor",
        metavar="NAME",
        help="The actor's name, when several have it.",
        show_default=False,
        autocompletion=completing.actors,
    ),
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")]
