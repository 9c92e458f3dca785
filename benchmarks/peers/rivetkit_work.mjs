// The work of the benchmarks in RivetKit and the Rivet Engine, in an environment of its own: DIRECTORY ROW.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { openSync } from "node:fs";
import { actor, queue, setup } from "rivetkit";
import { createClient } from "rivetkit/client";
import { workflow } from "rivetkit/workflow";

const STEPS = 1000, MESSAGES = 2000, SENDERS = 50, CALLS = 2000;
const [directory, row] = process.argv.slice(2);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const sequence = actor({
	state: { steps: 0 },
	run: workflow(async (ctx) => {
		for (let n = 0; n < STEPS; n++) {
			await ctx.step(`step-${n}`, async (step) => {
				step.state.steps += 1;
			});
		}
	}),
	actions: { getState: (c) => c.state },
});

const counter = actor({
	state: { processed: 0 },
	queues: { counter: queue() },
	run: workflow(async (ctx) => {
		await ctx.loop("count", async (loop) => {
			const message = await loop.queue.next("wait");
			await loop.step("add", async (step) => {
				step.state.processed += message.body.delta;
			});
		});
	}),
	actions: { getState: (c) => c.state },
});

const plain = actor({ state: { processed: 0 }, actions: { getState: (c) => c.state } });

const freePort = () =>
	new Promise((resolve) => {
		const server = createServer().listen(0, "127.0.0.1", () => {
			const { port } = server.address();
			server.close(() => resolve(String(port)));
		});
	});

async function startEngine() {
	const [port, peer, metrics] = [await freePort(), await freePort(), await freePort()];
	const log = openSync(`${directory}/engine.log`, "a");
	const binary = `${process.env.PEER_HOME}/node_modules/@rivetkit/engine-cli-linux-x64-musl/rivet-engine`;
	spawn(binary, ["start"], {
		stdio: ["ignore", log, log],
		env: {
			...process.env,
			RIVET__GUARD__PORT: port,
			RIVET__GUARD__HOST: "127.0.0.1",
			RIVET__API_PEER__PORT: peer,
			RIVET__METRICS__PORT: metrics,
			RIVET__FILE_SYSTEM__PATH: `${directory}/db`,
			RIVET__RUNTIME__WORKER_CPU_MAX: "1000000", // it would put off actors on a busy machine
		},
	});
	const url = `http://127.0.0.1:${port}`;
	while (!(await fetch(`${url}/health`).then((r) => r.ok, () => false))) await pause(50);
	setup({ use: { sequence, counter, plain }, endpoint: url, startServices: false }).start();
	const runners = async () => (await (await fetch(`${url}/envoys?namespace=default`)).json()).envoys;
	while (!(await runners())?.length) await pause(50);
	return url;
}

async function until(handle, key, wanted) {
	while ((await handle.getState())[key] < wanted) await pause(10);
}

async function atOnce(count, total, work) {
	const begin = performance.now();
	await Promise.all(
		Array.from({ length: count }, async (_, who) => {
			for (let n = 0; n < total / count; n++) await work(who);
		}),
	);
	return () => (total * 1000) / (performance.now() - begin);
}

const rows = {
	steps: async (client) => {
		const begin = performance.now();
		await until(client.sequence.getOrCreate(["main"]), "steps", STEPS);
		return (STEPS * 1000) / (performance.now() - begin);
	},
	messages: async (client) => {
		const handle = client.counter.getOrCreate(["main"]);
		await handle.getState();
		const rate = await atOnce(SENDERS, MESSAGES, () => handle.send("counter", { delta: 1 }));
		await until(handle, "processed", MESSAGES);
		return rate();
	},
	"actions-http": async (client) => {
		const handle = client.plain.getOrCreate(["main"]);
		await handle.getState();
		return (await atOnce(SENDERS, CALLS, () => handle.getState()))();
	},
	"actions-websocket": async (client) => {
		const connection = client.plain.getOrCreate(["main"]).connect();
		await connection.getState();
		return (await atOnce(SENDERS, CALLS, () => connection.getState()))();
	},
};

const client = createClient({ endpoint: await startEngine(), encoding: "bare" });
console.log(`figure ${await rows[row](client)}`);
