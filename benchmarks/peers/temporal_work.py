"""The work of the benchmarks in Temporal's dev server, in an environment of its own: DIRECTORY ROW COUNT."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

SENDERS = 50
#: How many steps, signals, workflows or branches.
COUNT = int(sys.argv[3])
QUEUE = "work"
PATIENCE = timedelta(hours=1)


@activity.defn
async def nothing(n: int) -> int:
    return n


@workflow.defn
class Sequence:
    @workflow.run
    async def run(self, count: int) -> None:
        for n in range(count):
            await workflow.execute_activity(nothing, n, start_to_close_timeout=PATIENCE)


@workflow.defn
class Join:
    @workflow.run
    async def run(self) -> None:
        await asyncio.gather(
            *(workflow.execute_activity(nothing, n, start_to_close_timeout=PATIENCE) for n in range(COUNT))
        )


@workflow.defn
class Counter:
    """Counts signals; an activity for each would be the row of the steps again."""

    def __init__(self) -> None:
        self.value = 0

    @workflow.run
    async def run(self) -> int:
        await workflow.wait_condition(lambda: self.value >= COUNT)
        return self.value

    @workflow.signal
    def add(self, delta: int) -> None:
        self.value += delta


async def steps(client: Client, _: Path) -> float:
    begin = time.perf_counter()
    await client.execute_workflow(Sequence.run, COUNT, id="steps", task_queue=QUEUE)
    return COUNT / (time.perf_counter() - begin)


async def messages(client: Client, _: Path) -> float:
    handle = await client.start_workflow(Counter.run, id="counter", task_queue=QUEUE)

    async def share() -> None:
        for _ in range(COUNT // SENDERS):
            await handle.signal(Counter.add, 1)

    begin = time.perf_counter()
    await asyncio.gather(*(share() for _ in range(SENDERS)))
    await handle.result()
    return COUNT / (time.perf_counter() - begin)


async def fan_out(client: Client, _: Path) -> float:
    begin = time.perf_counter()
    await asyncio.gather(
        *(client.execute_workflow(Sequence.run, 3, id=f"w{n}", task_queue=QUEUE) for n in range(COUNT))
    )
    return COUNT / (time.perf_counter() - begin)


async def join(client: Client, _: Path) -> float:
    for n in range(2):  # as with us, once without counting
        begin = time.perf_counter()
        await client.execute_workflow(Join.run, id=f"join-{n}", task_queue=QUEUE)
    return (time.perf_counter() - begin) * 1000


async def first_step(client: Client) -> None:
    await client.execute_workflow(Sequence.run, 1, id="first", task_queue=QUEUE)


ROWS = {"steps": steps, "messages": messages, "fan-out": fan_out, "join": join}


async def main(directory: Path, row: str) -> None:
    port = free_port()
    server = [
        f"{os.environ['PEER_HOME']}/venv/bin/temporal",
        *("server", "start-dev", "--headless", "--log-level", "error"),
        *("--port", str(port), "--db-filename", str(directory / "temporal.db")),
    ]
    running = subprocess.Popen(server, stdout=sys.stderr)
    client = await connected(port)
    worker = Worker(
        client,
        task_queue=QUEUE,
        workflows=[Sequence, Join, Counter],
        activities=[nothing],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    try:
        async with worker:
            await first_step(client)  # all there is to the cold start
            figure = await ROWS[row](client, directory) if row in ROWS else 0.0
            print(f"figure {figure}", flush=True)
    finally:
        running.terminate()


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


async def connected(port: int) -> Client:
    while True:
        with suppress(RuntimeError):
            return await Client.connect(f"127.0.0.1:{port}")
        await asyncio.sleep(0.05)


asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
