"""Gives a worker two jobs and then tells it to stop."""

import asyncio
import sys

from rivetpy.client import create_client


async def main(name):
    async with create_client() as client:  # the engine at RIVET_ENDPOINT, else http://localhost:6420
        worker = client.worker.get_or_create([name])
        await worker.send("work", {"resize": "cat.png"})
        await worker.send("work", {"resize": "dog.png"})
        # Both queues are read in the order of arrival, so this is seen after the jobs are done.
        await worker.send("control", {"reason": "no more work today"})

        state = await worker.getState()
        while state["status"] != "stopped":
            await asyncio.sleep(0.05)
            state = await worker.getState()
        print(f"{state['processed']} jobs done, stopped: {state['reason']}")


asyncio.run(main(*sys.argv[1:] or ["main"]))
