// The work of the benchmarks in RivetKit and the Rivet Engine, in an environment of its own: DIRECTORY ROW COUNT.
//
// This process drives; the engine is one, and the one that runs the actors is another of this file. It is told of
// the engine by its environment, without which RivetKit starts an engine of its own that outlives it.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { openSync } from "node:fs";
import { fileURLToPath } from "node:url";

const SENDERS = 50;
const [directory, row, count] = [process.argv[2], process.argv[3], Number(process.argv[4])];
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function serve() {
	const { actor, queue, setup } = await import("rivetkit");
	const { workflow } = await import("rivetkit/workflow");
	const actions = { getState: (c) => c.state };
	const sequence = actor({
		state: { steps: 0 },
		run: workflow(async (ctx) => {
			for (let n = 0; n < count; n++) {
				await ctx.step(`step-${n}`, async (step) => {
					step.state.steps += 1;
				});
			}
		}),
		actions,
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
		actions,
	});
	const plain = actor({ state: { processed: 0 }, actions });
	setup({ use: { sequence, counter, plain }, endpoint: process.env.RIVET_ENDPOINT, startServices: false }).start();
}

const freePort = () =>
	new Promise((resolve) => {
		const server = createServer().listen(0, "127.0.0.1", () => {
			const { port } = server.address();
			server.close(() => resolve(String(port)));
		});
	});

/** A process whose output goes into the directory; the one that started us kills it. */
function start(name, command, args, env) {
	const log = openSync(`${directory}/${name}.log`, "a");
	spawn(command, args, { stdio: ["ignore", log, log], env: { ...process.env, ...env } });
}

async function startAll() {
	const [port, peer, metrics] = [await freePort(), await freePort(), await freePort()];
	const url = `http://127.0.0.1:${port}`;
	const binary = `${process.env.PEER_HOME}/node_modules/@rivetkit/engine-cli-linux-x64-musl/rivet-engine`;
	start("engine", binary, ["start"], {
		RIVET__GUARD__PORT: port,
		RIVET__GUARD__HOST: "127.0.0.1",
		RIVET__API_PEER__PORT: peer,
		RIVET__METRICS__PORT: metrics,
		RIVET__FILE_SYSTEM__PATH: `${directory}/db`,
		RIVET__RUNTIME__WORKER_CPU_MAX: "1000000", // it would put off actors on a busy machine
	});
	while (!(await fetch(`${url}/health`).then((r) => r.ok, () => false))) await pause(50);
	const told = { RIVET_ENDPOINT: url, RIVET_RUN_ENGINE: "0", RIVET_RUN_SERVICES: "0" };
	start("actors", process.execPath, [fileURLToPath(import.meta.url), directory, "serve", count], told);
	const runners = async () => (await (await fetch(`${url}/envoys?namespace=default`)).json()).envoys;
	while (!(await runners())?.length) await pause(50);
	return url;
}

async function until(handle, key, wanted) {
	while ((await handle.getState())[key] < wanted) await pause(10);
}

/** Runs the work so often, from all senders at once; the seconds since it began, whenever asked. */
async function atOnce(work) {
	const begin = performance.now();
	await Promise.all(
		Array.from({ length: SENDERS }, async () => {
			for (let n = 0; n < count / SENDERS; n++) await work();
		}),
	);
	return () => (performance.now() - begin) / 1000;
}

const rows = {
	steps: async (client) => {
		const begin = performance.now();
		await until(client.sequence.getOrCreate(["main"]), "steps", count);
		return (count * 1000) / (performance.now() - begin);
	},
	messages: async (client) => {
		const handle = client.counter.getOrCreate(["main"]);
		await handle.getState();
		const since = await atOnce(() => handle.send("counter", { delta: 1 }));
		await until(handle, "processed", count);
		return count / since();
	},
	"actions-http": async (client) => {
		const handle = client.plain.getOrCreate(["main"]);
		await handle.getState();
		return count / (await atOnce(() => handle.getState()))();
	},
	"actions-websocket": async (client) => {
		const connection = client.plain.getOrCreate(["main"]).connect();
		await connection.getState();
		return count / (await atOnce(() => connection.getState()))();
	},
	"cold-start": async (client) => {
		await client.plain.getOrCreate(["main"]).getState();
		return 0;
	},
};

if (row === "serve") {
	await serve();
} else {
	const endpoint = await startAll();
	process.env.RIVET_ENDPOINT = endpoint;
	const { createClient } = await import("rivetkit/client");
	console.log(`figure ${await rows[row](createClient({ endpoint, encoding: "bare" }))}`);
}
