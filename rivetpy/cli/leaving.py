"""A child that is told to leave lets finish what runs: an action that is cut off has no answer, a step runs again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rivetpy.cli.launch import FINISHING, Report
from rivetpy.host import Host

#: Seconds that nobody minds waiting, nor wants to be told of.
UNNOTICED = 0.5
#: Seconds between two looks.
_PERIOD = 0.02


async def let_finish(host: Host, report: Callable[[Report], None]) -> None:
    """Wait for the actions and steps that run now, for at most `FINISHING` seconds. Those that begin meanwhile don't
    count: everybody is served until then."""
    running = host.acting
    loop = asyncio.get_running_loop()
    began, said = loop.time(), False
    while (running := running & host.acting) and loop.time() - began < FINISHING:
        if not said and loop.time() - began >= UNNOTICED:
            said = True
            report({"finishing": len(running)})
        await asyncio.sleep(_PERIOD)
