"""`rivet sleep`: put an actor away."""

from __future__ import annotations

from rivetpy.cli.arguments import JsonFlag, KeyText, Name
from rivetpy.cli.shared import Common, with_common


@with_common
def sleep(common: Common, actor: Name, key: KeyText = "main", as_json: JsonFlag = False) -> None:
    """Put an actor away.

    It leaves memory at its next durable point, and comes back by itself when something comes for it.

    Example: rivet sleep invoice main
    """
    from rivetpy.cli.controlling import put_actor_to_sleep

    put_actor_to_sleep(common, actor, key, as_json)
