"""`rivet export`: one actor's whole durable life as a file."""

from __future__ import annotations

from rivetpy.cli.arguments import KeyText, Name
from rivetpy.cli.shared import Common, with_common


@with_common
def export(common: Common, actor: Name, key: KeyText = "main") -> None:
    """Write an actor to a file.

    State, journal, queue, values by key, cron and its own database, as they are committed now; with or without
    an engine. The actor is not disturbed. The file goes to standard output.

    Example: rivet export invoice main > invoice.rivet
    """
    from rivetpy.cli.copying import export_actor

    export_actor(common, actor, key)
