"""An invoice in three steps: load the cart, quote its tax, create the invoice. Runs once, when created."""

from remote import connect

from rivetpy import actor
from rivetpy.workflow import workflow


async def load_cart(step, cart_id):
    async with connect() as http:
        reply = await http.get(f"/carts/{cart_id}")
    return reply.raise_for_status().json()


async def quote_tax(step, subtotal):
    async with connect() as http:
        reply = await http.post(
            "/tax/quote",
            json={"subtotal": subtotal},
            headers={"Idempotency-Key": step.idempotency_key},
        )
    return reply.raise_for_status().json()["tax"]


async def create_invoice(step, cart, tax):
    async with connect() as http:
        # Should this step be cut off and run again, the key makes sure that nobody is billed twice.
        reply = await http.post(
            "/invoices",
            json={"cartId": cart["id"], "total": cart["subtotal"] + tax},
            headers={"Idempotency-Key": step.idempotency_key},
        )
    result = reply.raise_for_status().json()
    step.state.update(status="created", invoiceId=result["invoiceId"], total=result["total"])
    return result["invoiceId"]


async def run(ctx):
    cart = await ctx.step("load-cart", load_cart, ctx.key[0])
    tax = await ctx.step("quote-tax", quote_tax, cart["subtotal"])
    return await ctx.step("create-invoice", create_invoice, cart, tax)


invoice = actor(
    state={"status": "open", "invoiceId": None, "total": None},
    run=workflow(run),
    actions={"getState": lambda c: c.state},
)
