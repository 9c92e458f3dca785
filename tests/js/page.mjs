// A page of another origin that uses the official client. The test that drives the browser calls `talk`.
//
// All through a connection, or with GET: the client streams the bodies of its other requests, and browsers do that
// over HTTP/2 only, which a page on http:// never speaks.
import { createClient } from "rivetkit/client";

async function until(wanted, patience = 20000) {
	for (const end = Date.now() + patience; !wanted(); ) {
		if (Date.now() > end) throw new Error(`waited in vain for ${wanted}`);
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
}

// What a client of this encoding gets for actions, an event, an error and a raw request.
window.talk = async (endpoint, encoding, disableMetadataLookup) => {
	const client = createClient({ endpoint, encoding, disableMetadataLookup });
	const thing = client.thing.getOrCreate([encoding, "page"], { params: { who: "mé" } });
	const connection = thing.connect();
	const errors = [];
	connection.onError(({ group, code }) => errors.push({ group, code }));
	const said = [];
	connection.on("said", (...args) => said.push(args));
	try {
		const who = await Promise.race([connection.whoami().catch(() => null), until(() => errors.length)]);
		if (errors.length) return { errors };
		const listeners = await connection.shout(1, { x: "é" });
		await until(() => said.length > 0);
		const refused = await connection.refuse().catch(({ group, code, metadata }) => ({ group, code, big: `${metadata.big}` }));
		const raw = await (await thing.fetch("/there?x=1", { headers: { "x-given": "yes" } })).json();
		return { who, listeners, said, added: await connection.add(2), refused, raw };
	} finally {
		await connection.dispose();
	}
};
document.body.append("ready");
