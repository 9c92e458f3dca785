"""Gives a worker two jobs and then tells it to stop, without asyncio."""

import sys
import time

from rivetpy.client import create_sync_client


def main(name):
    with create_sync_client() as client:  # the engine at RIVET_ENDPOINT, else http://localhost:6420
        worker = client.worker.get_or_create([name])
        worker.send("work", {"resize": "cat.png"})
        worker.send("work", {"resize": "dog.png"})
        # Both queues are read in the order of arrival, so this is seen after the jobs are done.
        worker.send("control", {"reason": "no more work today"})

        state = worker.getState()
        while state["status"] != "stopped":
            time.sleep(0.05)
            state = worker.getState()
        print(f"{state['processed']} jobs done, stopped: {state['reason']}")


main(*sys.argv[1:] or ["main"])
