// Drives the official client from outside: one JSON command per line in, one JSON answer per line out.
//
// {"id": 1, "do": "action", "handle": {"by": "getOrCreate", "name": "thing", "key": ["a"], "options": {…}}, …}
// is answered {"id": 1, "value": …} or {"id": 1, "error": {"group", "code", "message", "metadata", …}}.
import { createInterface } from "node:readline";
import { inspect, isDeepStrictEqual } from "node:util";
import { createClient } from "rivetkit/client";

const [endpoint, encoding, noLookup] = process.argv.slice(2);
const client = createClient({ endpoint, encoding, disableMetadataLookup: noLookup !== undefined });

// One of each kind of value that JavaScript has and JSON may not.
const VALUES = {
	undefined: undefined,
	null: null,
	true: true,
	bigint: 5n,
	huge: 2n ** 70n,
	negativeHuge: -(2n ** 70n),
	date: new Date(1700000000000),
	dateWithMs: new Date(1700000000123),
	bytes: new Uint8Array([0, 1, 255]),
	buffer: new Uint8Array([9, 8]).buffer,
	map: new Map([["a", 1]]),
	set: new Set([1, "x"]),
	floats: new Float32Array([1.5, -2]),
	words: new Uint16Array([1, 65535]),
	regexp: /a+/g,
	error: new TypeError("no"),
	nan: NaN,
	infinity: -Infinity,
	int: 2 ** 31,
	word: 2 ** 32,
	wide: -(2 ** 40),
	exact: 2 ** 53,
	far: 1e300,
	fraction: 0.1,
	object: { n: { m: null } },
	holes: { gone: undefined, there: 1 },
	tag: ["$foo", 1],
	escapedTag: ["$$foo", 1],
	text: "wörld ☃ 𝄞",
	deep: [[{ a: [] }]],
};

function handleOf({ by, name, key, id, options }) {
	return by === "getForId" ? client[name].getForId(id, options) : client[name][by](key, options);
}

// Connections by the name that the other side gave them, and what they told so far.
const conns = new Map();

function connect({ conn, handle, events }) {
	const opened = handleOf(handle).connect();
	const told = { events: [], errors: [], statuses: [] };
	for (const name of events) {
		told[name] = opened.on(name, (...args) => told.events.push([name, ...args]));
	}
	opened.onError(({ group, code, message }) => told.errors.push({ group, code, message }));
	opened.onStatusChange((status) => told.statuses.push(status));
	conns.set(conn, { opened, told });
}

async function until(wanted, patience = 20000) {
	for (const end = Date.now() + patience; !wanted(); ) {
		if (Date.now() > end) throw new Error(`waited in vain for ${wanted}`);
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
}

const verbs = {
	async connect(command) {
		connect(command);
	},
	async conn({ conn, name, args }) {
		return await name.split(".").reduce((part, each) => part[each], conns.get(conn).opened)(...args);
	},
	async connSend({ conn, queue, body, options }) {
		return await conns.get(conn).opened.send(queue, body, options);
	},
	async connEcho({ conn, value }) {
		const back = await conns.get(conn).opened.echo(VALUES[value]);
		return { same: isDeepStrictEqual(back, VALUES[value]), shown: inspect(back) };
	},
	async events({ conn, count }) {
		const { told } = conns.get(conn);
		await until(() => told.events.length >= count);
		return told.events;
	},
	async unsubscribe({ conn, event }) {
		conns.get(conn).told[event]();
	},
	async status({ conn, wanted, times = 1 }) {
		const { told } = conns.get(conn);
		await until(() => told.statuses.filter((status) => status === wanted).length >= times);
		return told;
	},
	async dispose({ conn }) {
		await conns.get(conn).opened.dispose();
	},
	async action({ handle, name, args }) {
		return await name.split(".").reduce((part, each) => part[each], handleOf(handle))(...args);
	},
	async echo({ handle, value }) {
		const back = await handleOf(handle).echo(VALUES[value]);
		return { same: isDeepStrictEqual(back, VALUES[value]), shown: inspect(back) };
	},
	async send({ handle, queue, body, options }) {
		return await handleOf(handle).send(queue, body, options);
	},
	async fetch({ handle, input, init, whole }) {
		const response = await handleOf(handle).fetch(whole ? new Request(input, init) : input, init);
		const headers = Object.fromEntries(response.headers);
		return { status: response.status, headers, body: await response.text() };
	},
	// Opens a socket, sends texts (and bytes as lists of numbers), and tells what came until it closed.
	async webSocket({ handle, path, send }) {
		const socket = await handleOf(handle).webSocket(path);
		socket.binaryType = "arraybuffer";
		const got = [];
		socket.addEventListener("message", ({ data }) => {
			got.push(typeof data === "string" ? data : [...new Uint8Array(data)]);
		});
		const closed = new Promise((resolve) => socket.addEventListener("close", resolve));
		if (socket.readyState === 0) await new Promise((resolve) => socket.addEventListener("open", resolve));
		for (const each of send) socket.send(typeof each === "string" ? each : new Uint8Array(each));
		const { code, reason } = await closed;
		return { got, code, reason };
	},
	async resolve({ handle }) {
		return await handleOf(handle).resolve();
	},
	async create({ name, key, options }) {
		return await (await client[name].create(key, options)).resolve();
	},
};

function answer(id, rest) {
	process.stdout.write(`${JSON.stringify({ id, ...rest }, (_, v) => (typeof v === "bigint" ? `${v}n` : v))}\n`);
}

createInterface({ input: process.stdin }).on("line", async (line) => {
	const command = JSON.parse(line);
	try {
		answer(command.id, { value: await verbs[command.do](command) });
	} catch (error) {
		const { group, code, message, metadata, actor, rayId, constructor } = error;
		answer(command.id, { error: { type: constructor.name, group, code, message, metadata, actor, rayId } });
	}
}).on("close", () => process.exit(0));
