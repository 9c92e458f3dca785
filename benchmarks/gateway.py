"""What a `rivet dev` process reaches through its port."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.inside import MESSAGES, SENDERS
from benchmarks.measure import Row, against_floor
from benchmarks.process import running_engine
from rivetpy.client import create_client
from rivetpy.client.handles import Handle


async def send_all(endpoint: str) -> float:
    """Every sender has a client of its own, as if they were so many programs."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(create_client(endpoint)) for _ in range(SENDERS)]
        counters = [client.counter.get_or_create(["main"]) for client in clients]
        await asyncio.gather(*(counter.getState() for counter in counters))

        async def send_share(counter: Handle) -> None:
            for _ in range(MESSAGES // SENDERS):
                await counter.send("counter", {"delta": 1})

        begin = time.perf_counter()
        await asyncio.gather(*map(send_share, counters))
        while (await counters[0].getState())["processed"] < MESSAGES:
            await asyncio.sleep(0.01)
        return MESSAGES / (time.perf_counter() - begin)


def once(directory: Path) -> float:
    with running_engine(directory) as engine:
        return asyncio.run(send_all(engine.url))


def messages(directory: Path) -> list[Row]:
    ours, floor, ratio = against_floor(directory, once)
    return [
        Row(f"{MESSAGES} messages to one counter, HTTP, {SENDERS} senders", ours, "messages/s", ratio),
        Row("  SQLite FULL, one row a commit, in the same rounds", floor, "commits/s"),
    ]
