"""What a `rivet dev` process reaches through its port."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.inside import MESSAGES, SENDERS
from benchmarks.measure import Row, rounds, row, run
from benchmarks.process import running_engine
from rivetpy.client import Handle, create_client

CALLS = 5000


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


def messages_per_second(directory: Path) -> float:
    with running_engine(directory) as engine:
        return run(send_all(engine.url))


def messages(directory: Path) -> list[Row]:
    name = f"{MESSAGES} messages to one counter, HTTP, {SENDERS} senders"
    return row(name, "messages/s", messages_per_second, directory, "messages")


async def timed(calls: list[Callable[[], Awaitable[object]]]) -> tuple[float, list[float]]:
    """Calls per second of so many callers at once, and the sorted milliseconds of each call."""
    took: list[float] = []

    async def share(call: Callable[[], Awaitable[object]]) -> None:
        for _ in range(CALLS // len(calls)):
            begin = time.perf_counter()
            await call()
            took.append((time.perf_counter() - begin) * 1000)

    begin = time.perf_counter()
    await asyncio.gather(*map(share, calls))
    return CALLS / (time.perf_counter() - begin), sorted(took)


async def over_http(endpoint: str) -> tuple[float, list[float]]:
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(create_client(endpoint)) for _ in range(SENDERS)]
        counters = [client.counter.get_or_create(["main"]) for client in clients]
        await asyncio.gather(*(counter.getState() for counter in counters))
        return await timed([counter.getState for counter in counters])


async def over_websocket(endpoint: str) -> tuple[float, list[float]]:
    async with create_client(endpoint) as client:
        connection = client.counter.get_or_create(["main"]).connect()
        await connection.getState()
        return await timed([connection.getState] * SENDERS)


def actions(directory: Path) -> list[Row]:
    rows = []
    with running_engine(directory) as engine:
        for what, work, theirs in (
            ("HTTP", over_http, "actions-http"),
            ("one WebSocket", over_websocket, "actions-websocket"),
        ):
            measured = [run(work(engine.url)) for _ in rounds()]
            latencies = [took for _, took in measured]
            rate = statistics.median(rate for rate, _ in measured)
            rows += [
                Row(f"actions over {what}, {SENDERS} at once", rate, "actions/s", work=theirs),
                Row(f"actions over {what}: p50", _percentile(latencies, 50), "ms"),
                Row(f"actions over {what}: p99", _percentile(latencies, 99), "ms"),
            ]
    return rows


def _percentile(sorted_: list[list[float]], percent: int) -> float:
    return statistics.median(each[len(each) * percent // 100] for each in sorted_)
