"""`rivet doctor`: what is wrong with this machine's engine and data."""

from __future__ import annotations

from rivetpy.cli.arguments import JsonFlag
from rivetpy.cli.shared import Common, with_common


@with_common
def doctor(common: Common, as_json: JsonFlag = False) -> None:
    """Find what is wrong, and say what to do.

    Looks at versions, the engine and its port, the data directory (place, lock, disk space), and reads every
    journal in it. Changes nothing. Ends with 1 when something is bad.

    Example: rivet doctor --data-dir ./data
    """
    from rivetpy.cli.doctor import examine

    examine(common, as_json)
