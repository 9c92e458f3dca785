"""`rivet recover`: run again what failed a workflow."""

from __future__ import annotations

from rivetpy.cli.arguments import JsonFlag, KeyText, Name
from rivetpy.cli.shared import Common, with_common


@with_common
def recover(common: Common, actor: Name, key: KeyText = "main", as_json: JsonFlag = False) -> None:
    """Run again what failed a workflow.

    The steps it failed by get all their attempts anew; what is recorded stays. After a rollback that failed,
    the handlers not done yet run.

    Example: rivet recover invoice main
    """
    from rivetpy.cli.controlling import recover_workflow

    recover_workflow(common, actor, key, as_json)
