"""Sends the counter three commands and shows what became of them."""

import asyncio

from rivetpy.client import create_client


async def main():
    async with create_client() as client:  # the engine at RIVET_ENDPOINT, else http://localhost:6420
        counter = client.workflowCounter.get_or_create(["main"])
        before = await counter.getState()
        for delta in (1, 2, 3):
            await counter.send("counter", {"delta": delta})

        state = await counter.getState()
        while state["processed"] < before["processed"] + 3:
            await asyncio.sleep(0.05)
            state = await counter.getState()
        print(f"value {state['value']} after {state['processed']} commands")


asyncio.run(main())
