// Asks for the invoice of a cart, whose workflow starts when the actor is made.
import { createClient } from "rivetkit/client";
import type { registry } from "./registry";

const client = createClient<typeof registry>();
const invoice = client.invoice.getOrCreate(["cart-7"]);

let state = await invoice.getState();
while (state.status !== "created") {
	await new Promise((resolve) => setTimeout(resolve, 50));
	state = await invoice.getState();
}
console.log(JSON.stringify(state));
process.exit(0);
