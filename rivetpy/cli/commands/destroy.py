"""`rivet destroy`: remove an actor for good."""

from __future__ import annotations

from rivetpy.cli.arguments import KeyText, Name, Yes
from rivetpy.cli.shared import Common, with_common


@with_common
def destroy(common: Common, actor: Name, key: KeyText = "main", yes: Yes = False) -> None:
    """Remove an actor for good.

    Its state, queue and journal go with it; asks first.

    Example: rivet destroy counter main
    """
    from rivetpy.cli.asking import confirm
    from rivetpy.cli.source import open_engine, require
    from rivetpy.cli.text import visible

    with open_engine(common) as engine:
        found = require(engine, actor, key)
        confirm(f"Destroy {actor} {found['key']} with its state, queue and journal?", yes)
        engine.destroy(found["actor_id"])
        print(visible(f"destroyed {actor} {found['key']}"))
