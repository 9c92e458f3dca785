"""A child that is told to leave lets the actions end that run: cutting one off loses its answer, for nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rivetpy.cli.launch import ACTION_GRACE, Report
from rivetpy.host import Host

#: Seconds that nobody minds waiting, nor wants to be told of.
UNNOTICED = 0.5
#: Seconds between two looks.
_PERIOD = 0.01


async def let_actions_end(host: Host, report: Callable[[Report], None]) -> None:
    """Wait for the actions that run now, for at most `ACTION_GRACE` seconds; those that begin meanwhile don't count."""
    running = host.acting
    loop = asyncio.get_running_loop()
    began, said = loop.time(), False
    while (running := running & host.acting) and loop.time() - began < ACTION_GRACE:
        if not said and loop.time() - began >= UNNOTICED:
            said = True
            report({"finishing": len(running)})
        await asyncio.sleep(_PERIOD)
