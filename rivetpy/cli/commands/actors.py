"""`rivet actors`: which actors there are and how they are."""

from __future__ import annotations

from typing import Annotated

import typer

from rivetpy.cli import completing
from rivetpy.cli.arguments import JsonFlag
from rivetpy.cli.shared import Common, with_common


@with_common
def actors(
    common: Common,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Only actors of this name.",
            show_default=False,
            autocompletion=completing.actors,
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many.", show_default=False)] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the actors.

    Newest first: status, queue, journal, what each waits for and when it wakes next.

    Example: rivet actors counter --limit 20
    """
    from itertools import chain, islice

    from rivetpy.cli.source import open_source, unknown_name
    from rivetpy.cli.text import json_text

    with open_source(common) as source:
        listed = source.actors(name)
        first = list(islice(listed, 1))
        if name is not None and not first:
            raise unknown_name(source, name)
        found = islice(chain(first, listed), limit)
        if as_json:
            for actor in found:
                print(json_text(actor))
            return
        import time

        from rivetpy.cli.render_actor import table
        from rivetpy.cli.terminal import show, width

        show(table(found, width(), time.time_ns() // 1_000_000), common.color)
