"""`rivet cancel`: end a workflow for good."""

from __future__ import annotations

from rivetpy.cli.arguments import JsonFlag, KeyText, Name, Yes
from rivetpy.cli.shared import Common, with_common


@with_common
def cancel(
    common: Common, actor: Name, key: KeyText = "main", yes: Yes = False, as_json: JsonFlag = False
) -> None:
    """End a workflow for good.

    Stops what runs, without a rollback; the actor, its state and its journal stay. Asks first.

    Example: rivet cancel invoice main
    """
    from rivetpy.cli.controlling import cancel_workflow

    cancel_workflow(common, actor, key, yes, as_json)
