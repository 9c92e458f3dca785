// Sends the counter two commands and waits until its workflow has applied them.
import { createClient } from "rivetkit/client";
import type { registry } from "./registry";

const client = createClient<typeof registry>();
const counter = client.workflowCounter.getOrCreate(["main"]);

await counter.send("counter", { delta: 1 });
await counter.send("counter", { delta: 4 });

let state = await counter.getState();
while (state.processed < 2) {
	await new Promise((resolve) => setTimeout(resolve, 50));
	state = await counter.getState();
}
console.log(JSON.stringify(state));
process.exit(0);
