"""SIGKILL of a real engine under load: nothing acknowledged is lost, no recorded step runs again.

A round lets the load run for a random while, kills the engine (both its processes, or one of them; sometimes again
while it is starting) and starts it again. The service that the steps call is a process of its own and survives,
so its log tells how often each step's body really ran.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable
from pathlib import Path

import pytest

from tests.support.engine import EXAMPLES, Engine, StandIn, engine, stand_in
from tests.support.load import recorded_steps, remember, under_load


async def kill_rounds(running: Engine, api: StandIn, rounds: int, dice: random.Random) -> dict[str, int]:
    """Kills and restarts; returns how often each recorded step had run when it was first seen recorded."""
    seen: dict[str, int] = {}
    for _ in range(rounds):
        await asyncio.sleep(dice.uniform(0.05, 0.5))
        kill = dice.choice([running.kill, running.kill, running.kill_parent, running.kill_child])
        await asyncio.to_thread(kill)
        recorded = await recorded_steps(running.data)
        executions = await asyncio.to_thread(api.executions)
        remember(seen, recorded, executions)
        if kill != running.kill_child:
            running.spawn()
        if dice.random() < 0.2:
            await asyncio.sleep(dice.uniform(0, 0.6))
            await asyncio.to_thread(running.kill)
            running.spawn()
        await asyncio.to_thread(running.ready)
    return seen


def run_rounds(rounds: int, data: Path, *options: str) -> None:
    seed = int(os.environ.get("CRASH_SEED") or random.SystemRandom().getrandbits(32))
    print(f"CRASH_SEED={seed}")
    registry = EXAMPLES / "registry.py"
    with stand_in(delay=0.003) as api, engine(registry, data, api=api, options=options) as running:

        def happens() -> Awaitable[dict[str, int]]:
            return kill_rounds(running, api, rounds, random.Random(seed))

        asyncio.run(under_load(running, api, seed, happens, ends=2 * rounds))


def test_nothing_is_lost_over_some_kills(tmp_path: Path) -> None:
    run_rounds(3, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("options", ["", "--strict-replay", "--durability=process"])
def test_nothing_is_lost_over_many_kills(tmp_path: Path, options: str) -> None:
    run_rounds(60, tmp_path, *options.split())
