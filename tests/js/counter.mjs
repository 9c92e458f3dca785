// The actors of a real Rivet Engine that the Python client is tested against.
import { UserError, actor, event, queue, setup } from "rivetkit";

const counter = actor({
	createState: (c, input) => ({ count: 0, input: input ?? null }),
	events: { newCount: event() },
	queues: { jobs: queue() },
	onBeforeConnect: (c, params) => {
		if (params?.who === "nöbody") throw new UserError("not you", { code: "unwanted", metadata: params });
	},
	onRequest: async (c, request) => {
		const url = new URL(request.url);
		return Response.json({ method: request.method, path: url.pathname + url.search, body: await request.text() });
	},
	onWebSocket: (c, websocket) => {
		websocket.addEventListener("message", ({ data }) => {
			websocket.send(typeof data === "string" ? data.toUpperCase() : data);
		});
	},
	run: async (c) => {
		for await (const message of c.queue.iter({ completable: true })) {
			c.state.count += message.body.n;
			await message.complete({ count: c.state.count });
		}
	},
	actions: {
		increment: (c, by) => {
			c.state.count += by;
			c.broadcast("newCount", c.state.count);
			return c.state.count;
		},
		getCount: (c) => c.state.count,
		input: (c) => c.state.input,
		params: (c) => c.conn?.params ?? null,
		echo: (c, value) => value,
		refuse: () => {
			throw new UserError("user says nö", { code: "my_code", metadata: { big: 2 } });
		},
		crash: () => {
			throw new Error("the password is hunter2");
		},
		drop: (c) => c.destroy(),
		nap: (c) => c.sleep(),
	},
});

setup({ use: { counter }, endpoint: process.env.RIVET_ENDPOINT, startServices: false }).start();
