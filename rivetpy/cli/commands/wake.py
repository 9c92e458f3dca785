"""`rivet wake`: bring an actor into memory."""

from __future__ import annotations

from rivetpy.cli.arguments import JsonFlag, KeyText, Name
from rivetpy.cli.shared import Common, with_common


@with_common
def wake(common: Common, actor: Name, key: KeyText = "main", as_json: JsonFlag = False) -> None:
    """Bring an actor into memory.

    Its workflow replays and goes on waiting for what it waits for; no timer is cut short.

    Example: rivet wake invoice main
    """
    from rivetpy.cli.controlling import wake_actor

    wake_actor(common, actor, key, as_json)
