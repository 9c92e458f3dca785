"""Asks for the invoice of a cart and waits until it is there."""

import asyncio
import sys

from rivetpy.client import create_client


async def main(cart_id):
    async with create_client() as client:  # the engine at RIVET_ENDPOINT, else http://localhost:6420
        # An invoice starts when it is created; asking again finds the same one.
        invoice = client.invoice.get_or_create([cart_id])
        state = await invoice.getState()
        while state["status"] != "created":
            await asyncio.sleep(0.05)
            state = await invoice.getState()
        print(f"invoice {state['invoiceId']} over {state['total'] / 100:.2f}")


asyncio.run(main(*sys.argv[1:] or ["main"]))
