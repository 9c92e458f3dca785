"""Mixed load on a real engine over the three examples, and an oracle: what was acknowledged, what really ran."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from rivetpy import RivetError
from rivetpy.client import create_client
from rivetpy.host.offline import view_rows
from rivetpy.store import Listing
from rivetpy.store.sqlite import SqliteStore
from rivetpy.workflow.entries import Entry, StepEntry
from tests.support.engine import Engine, StandIn

COUNTERS = ["main", "left", "right"]
WORKERS = ["w1", "w2"]


async def insist(ask: Callable[[], Awaitable[object]]) -> None:
    """Asks until it is acknowledged, as a careful sender does over an engine that comes and goes."""
    while True:
        try:
            await ask()
        except RivetError as error:
            if error.group not in {"client", "store"} and error.code not in {"full", "restarting"}:
                raise
            await asyncio.sleep(0.02)
        else:
            return


class Load:
    """Senders of all three examples, and what they were told is durable."""

    def __init__(self, client: Any, seed: int, orders: bool) -> None:
        self.client = client
        self.random = random.Random(seed)
        self.orders = orders
        self.stopped = False
        self.sums: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.invoices: list[str] = []

    async def run(self) -> None:
        counting = [self.count(name, sender) for name in COUNTERS for sender in range(3)]
        working = [self.work(name, sender) for name in WORKERS for sender in range(2)]
        await asyncio.gather(*counting, *working, *([self.order()] if self.orders else []))

    async def breathe(self) -> bool:
        await asyncio.sleep(self.random.uniform(0, 0.1))
        return not self.stopped

    async def count(self, name: str, sender: int) -> None:
        counter = self.client.workflowCounter.get_or_create([name])
        while await self.breathe():
            key = f"{name}-{sender}-{self.random.getrandbits(64)}"
            body = {"delta": self.random.randint(1, 9)}
            await insist(lambda key=key, body=body: counter.send("counter", body, idempotency_key=key))
            self.sums[name] += body["delta"]
            self.sent[name] += 1

    async def work(self, name: str, sender: int) -> None:
        worker = self.client.worker.get_or_create([name])
        while await self.breathe():
            job = f"{name}-{sender}-{self.random.getrandbits(64)}"
            await insist(lambda job=job: worker.send("work", {"job": job}, idempotency_key=job))
            self.sent[name] += 1

    async def order(self) -> None:
        while await self.breathe():
            cart = f"cart-{self.random.getrandbits(64)}"
            await insist(self.client.invoice.get_or_create([cart]).resolve)
            self.invoices.append(cart)


async def recorded_steps(data: Path) -> set[str]:
    """The idempotency keys of all finished steps in a data directory that no engine has open."""
    store = SqliteStore.open(data / "journal.db", read_only=True)
    keys: set[str] = set()
    cursor = None
    try:
        while True:
            rows, cursor = await store.list(Listing("default", cursor=cursor))
            for row in rows:
                workflow = view_rows(row, await store.load(row.id)).workflow
                keys.update(step_key(row.id, entry) for entry in workflow.entries if finished_step(entry))
            if cursor is None:
                return keys
    finally:
        await store.close()


def finished_step(entry: Entry) -> bool:
    return isinstance(entry, StepEntry) and entry.finished


def step_key(actor_id: str, entry: Entry) -> str:
    """The idempotency key of a step: services remember it, so it must never change, in no release."""
    return hashlib.blake2b(f"{actor_id}:{entry.location}".encode(), digest_size=16).hexdigest()


def remember(seen: dict[str, int], recorded: set[str], executions: Counter[str]) -> None:
    """How often each step had run when it was first seen recorded."""
    for key in recorded:
        seen.setdefault(key, executions[key])


async def until(fetch: Callable[[], Awaitable[Any]], reached: Callable[[Any], bool]) -> Any:
    """What ``fetch`` gives once it is as wanted; as it is after half a minute without progress."""
    value, patience = await fetch(), 600
    while not reached(value) and patience:
        await asyncio.sleep(0.05)
        newer = await fetch()
        value, patience = newer, 600 if newer != value else patience - 1
    return value


async def under_load(
    running: Engine,
    api: StandIn,
    seed: int,
    happens: Callable[[], Awaitable[dict[str, int]]],
    ends: int,
    *,
    orders: bool = True,
) -> None:
    """Send all the while something ``happens``, then look whether everything came to what it should.

    ``happens`` returns how often each recorded step had run when it was first seen recorded; ``ends`` is how often at
    most it ended the engine. Without ``orders`` there are no more actors at the end than at the start.
    """
    async with create_client(running.url) as client:
        load = Load(client, seed, orders)
        sending = asyncio.create_task(load.run())
        seen = await happens()
        load.stopped = True
        await sending

        for name in COUNTERS:
            counter = client.workflowCounter.get_or_create([name])
            state = await until(counter.getState, lambda s, name=name: s["processed"] >= load.sent[name])
            assert (state["processed"], state["value"]) == (load.sent[name], load.sums[name])
        for name in WORKERS:
            worker = client.worker.get_or_create([name])
            await worker.send("control", {"reason": "end"})
            state = await until(worker.getState, lambda s: s["status"] == "stopped")
            assert (state["processed"], state["reason"]) == (load.sent[name], "end")
        for cart in load.invoices:
            state = await until(
                client.invoice.get_or_create([cart]).getState, lambda s: s["status"] == "created"
            )
            assert state["total"] == 4560

    check_log(api, load, seen, ends)


def check_log(api: StandIn, load: Load, seen: dict[str, int], ends: int) -> None:
    """What really happened outside agrees with what was recorded."""
    executions = api.executions()
    assert seen, "no round found a recorded step: the load never got going"
    again = {key: (count, executions[key]) for key, count in seen.items() if executions[key] != count}
    assert not again, f"recorded steps ran again: {again}"
    assert max(executions.values()) <= 1 + ends

    requests = api.log()
    jobs = {request["body"]["job"]["job"] for request in requests if request["path"] == "/workers/process"}
    assert len(jobs) == sum(load.sent[name] for name in WORKERS)
    invoices = {
        request["body"]["cartId"]: request["key"] for request in requests if request["path"] == "/invoices"
    }
    assert invoices.keys() >= set(load.invoices)
    assert len({request["key"] for request in requests if request["path"] == "/invoices"}) == len(invoices)
    repeats = sum(request["repeated"] for request in requests)
    print(f"{ends} ends at most, {len(executions)} steps, {repeats} of them cut off and run again")
