"""`rivet import`: an actor out of a file."""

from __future__ import annotations

from typing import Annotated

import typer

from rivetpy.cli.arguments import JsonFlag
from rivetpy.cli.shared import Common, with_common


@with_common
def import_(
    common: Common,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="What export wrote (- for stdin).", show_default=False)
    ],
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="Under this key instead of its own.", show_default=False),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Make an actor out of a file.

    With or without an engine. It sleeps, whatever it waited for, until something comes for it: a message, a
    call, rivet wake. Then it goes on. A file that is not whole is refused.

    Example: rivet import invoice.rivet --key copy
    """
    from rivetpy.cli.copying import import_actor

    import_actor(common, file, key, as_json)
