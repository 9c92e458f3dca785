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
    cursor: Annotated[
        str | None,
        typer.Option(help="Go on where a list with a limit ended, as it said.", show_default=False),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the actors.

    Newest first: status, queue, journal, what each waits for and when it wakes next.

    Example: rivet actors counter --limit 20
    """
    import sys
    from itertools import chain

    from rivetpy.cli.source import open_source, unknown_name
    from rivetpy.cli.text import json_text

    with open_source(common) as source:
        listed = source.actors(name, limit, cursor)
        found = iter(listed)
        first = next(found, None)
        if name is not None and first is None:
            raise unknown_name(source, name)
        actors = chain([] if first is None else [first], found)
        if as_json:
            for actor in actors:
                print(json_text(actor))
        else:
            import time

            from rivetpy.cli.render_actor import table
            from rivetpy.cli.terminal import show, width

            show(table(actors, width(), time.time_ns() // 1_000_000), common.color)
        if listed.cursor is not None:
            sys.stdout.flush()
            print(f"there are more, go on with: --cursor {listed.cursor}", file=sys.stderr)
