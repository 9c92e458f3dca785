// Gives a worker two jobs, and then tells it through its other queue to stop.
import { createClient } from "rivetkit/client";
import type { registry } from "./registry";

const client = createClient<typeof registry>();
const worker = client.worker.getOrCreate(["w1"]);

await worker.send("work", { resize: "cat.png" });
await worker.send("work", { resize: "dog.png" });
await worker.send("control", { reason: "no more work today" });

let state = await worker.getState();
while (state.status !== "stopped") {
	await new Promise((resolve) => setTimeout(resolve, 50));
	state = await worker.getState();
}
console.log(JSON.stringify(state));
process.exit(0);
