"""`rivet destroy`: remove an actor for good."""

from __future__ import annotations

from rivetpy.cli.arguments import JsonFlag, KeyText, Name, Yes
from rivetpy.cli.shared import Common, with_common


@with_common
def destroy(
    common: Common, actor: Name, key: KeyText = "main", yes: Yes = False, as_json: JsonFlag = False
) -> None:
    """Remove an actor for good.

    Its state, queue and journal go with it; asks first.

    Example: rivet destroy counter main
    """
    from rivetpy.cli.asking import confirm
    from rivetpy.cli.source import open_engine, require
    from rivetpy.cli.telling import tell
    from rivetpy.cli.text import who

    with open_engine(common) as engine:
        found = require(engine, actor, key)
        confirm(f"Destroy {who(found)} with its state, queue and journal?", yes)
        engine.destroy(found["actor_id"])
        tell("destroy", f"destroyed {who(found)}", as_json=as_json, actor=found)
