"""`rivet actors`: which actors there are and how they are."""

from __future__ import annotations

from typing import Annotated

import typer

from rivetpy.cli.shared import Common, JsonFlag, with_common


@with_common
def actors(
    common: Common,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Only actors of this name.", show_default=False)
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many.", show_default=False)] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the actors.

    Newest first: status, queue, journal, what each waits for and when it wakes next.
    """
    from itertools import islice

    from rivetpy.cli.source import open_source
    from rivetpy.cli.text import json_text

    with open_source(common) as source:
        found = islice(source.actors(name), limit)
        if as_json:
            for actor in found:
                print(json_text(actor))
            return
        import time

        from rivetpy.cli.render_actor import table
        from rivetpy.cli.terminal import show, width

        show(table(found, width(), time.time_ns() // 1_000_000), common.color)
