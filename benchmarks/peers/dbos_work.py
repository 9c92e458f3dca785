"""The work of the benchmarks in DBOS over SQLite, in an environment of its own: dbos_work.py DIRECTORY ROW COUNT."""

import asyncio
import sys
import time
from pathlib import Path

from dbos import DBOS

SENDERS = 50
#: How many steps, messages, workflows or branches.
COUNT = int(sys.argv[3])


@DBOS.step()
async def nothing(n: int) -> int:
    return n


@DBOS.workflow()
async def sequence(count: int) -> None:
    for n in range(count):
        await nothing(n)


@DBOS.workflow()
async def counter() -> int:
    value = 0
    for _ in range(COUNT):
        value += await nothing(await DBOS.recv_async(timeout_seconds=60))
    return value


@DBOS.workflow()
async def join() -> None:
    await asyncio.gather(*(nothing(n) for n in range(COUNT)))


@DBOS.step()
async def hold(path: str) -> None:
    if Path(path).exists():  # the second life
        print("again", flush=True)
        return
    Path(path).touch()
    print("ready", flush=True)
    await asyncio.sleep(3600)


@DBOS.workflow()
async def resumed(path: str) -> None:
    for n in range(COUNT):
        await nothing(n)
    await hold(path)


async def steps(_: Path) -> float:
    begin = time.perf_counter()
    handle = await DBOS.start_workflow_async(sequence, COUNT)
    await handle.get_result(polling_interval_sec=0.01)
    return COUNT / (time.perf_counter() - begin)


async def messages(_: Path) -> float:
    handle = await DBOS.start_workflow_async(counter)

    async def share() -> None:
        for _ in range(COUNT // SENDERS):
            await DBOS.send_async(handle.workflow_id, 1)

    begin = time.perf_counter()
    await asyncio.gather(*(share() for _ in range(SENDERS)))
    await handle.get_result(polling_interval_sec=0.01)
    return COUNT / (time.perf_counter() - begin)


async def fan_out(_: Path) -> float:
    begin = time.perf_counter()
    handles = await asyncio.gather(*(DBOS.start_workflow_async(sequence, 3) for _ in range(COUNT)))
    await asyncio.gather(*(handle.get_result(polling_interval_sec=0.05) for handle in handles))
    return COUNT / (time.perf_counter() - begin)


async def branches(__: Path) -> float:
    for _ in range(2):  # as with us, once without counting
        begin = time.perf_counter()
        handle = await DBOS.start_workflow_async(join)
        await handle.get_result(polling_interval_sec=0.001)
    return (time.perf_counter() - begin) * 1000


async def first_step() -> None:
    handle = await DBOS.start_workflow_async(sequence, 1)
    await handle.get_result(polling_interval_sec=0.001)


async def resume(directory: Path) -> float:
    marker = directory / "held"
    if not marker.exists():
        await DBOS.start_workflow_async(resumed, str(marker))
    await asyncio.sleep(3600)
    return 0.0


ROWS = {
    "steps": steps,
    "messages": messages,
    "fan-out": fan_out,
    "join": branches,
    "resume": resume,
}


async def main(directory: Path, row: str) -> None:
    DBOS(
        config={
            "name": "peer",
            "system_database_url": f"sqlite:///{directory}/dbos.db",
            "log_level": "ERROR",
            "run_admin_server": False,
            "application_version": "1",
        }
    )
    DBOS.launch()
    if row != "resume":
        await first_step()  # all there is to the cold start
    figure = await ROWS[row](directory) if row in ROWS else 0.0
    print(f"figure {figure}", flush=True)
    DBOS.destroy(workflow_completion_timeout_sec=0)


asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
