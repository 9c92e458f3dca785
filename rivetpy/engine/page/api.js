// What the page asks of the engine it came from. One function sends every request, with all that it needs.

const ENGINE = new URL("..", import.meta.url);
const NAMESPACE = "namespace=default";
const TOKEN = "rivet.token";
/** Milliseconds after which a look at the engine is given up; what changes something may take its time. */
const PATIENCE = 30_000;

/** What went wrong, as the engine said it. `status` is 0 when nothing answered. */
export class EngineError extends Error {
  constructor(status, told) {
    const code = `${told.group}.${told.code}`;
    const hidden = code === "rivetkit.internal_error" ? ". What went wrong is in the engine's log." : "";
    super((told.message || `The engine answered with status ${status}`) + hidden);
    this.status = status;
    this.code = code;
  }

  /** Whether the engine wants a token, or another one. */
  get needsToken() {
    return this.code === "auth.forbidden" || this.code === "auth.required";
  }

  get isGone() {
    return this.code === "actor.not_found";
  }
}

/** The engine's token lives as long as the tab. It travels as a header, never in an address. */
export function setToken(token) {
  sessionStorage.setItem(TOKEN, token);
  inspectorTokens.clear();
}

export const hasToken = () => sessionStorage.getItem(TOKEN) !== null;

async function request(method, path, { body, bearer, signal } = {}) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = {};
  if (token) headers["x-rivet-token"] = token;
  if (bearer) headers.authorization = `Bearer ${bearer}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  const options = { method, headers, body, signal, cache: "no-store", credentials: "omit" };
  let response, text;
  try {
    response = await fetch(new URL(path, ENGINE), options);
    text = await response.text();
  } catch (error) {
    if (signal?.aborted && signal.reason?.name !== "TimeoutError") throw error;
    throw new EngineError(0, { message: "The engine does not answer." });
  }
  if (response.ok) return text;
  throw new EngineError(response.status, errorIn(text));
}

function errorIn(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return { message: text.slice(0, 300) };
  }
}

function look(path, signal, bearer) {
  const limit = AbortSignal.timeout(PATIENCE);
  return request("GET", path, { signal: signal ? AbortSignal.any([signal, limit]) : limit, bearer });
}

// -- the inspector of one actor, which has a token of its own ---------------------------------------------

const inspectorTokens = new Map();

function inspectorToken(actor) {
  if (!inspectorTokens.has(actor)) inspectorTokens.set(actor, readInspectorToken(actor));
  return inspectorTokens.get(actor);
}

/** The actor's own token, kept under this key; an engine without one needs none. */
async function readInspectorToken(actor) {
  try {
    const found = await look(`actors/${encodeURIComponent(actor)}/kv/keys/Aw==?${NAMESPACE}`);
    return atob(JSON.parse(found).value);
  } catch (error) {
    if (error.code === "api.not_found") return null;
    inspectorTokens.delete(actor);
    throw error;
  }
}

async function inspect(actor, send) {
  const token = await inspectorToken(actor);
  try {
    return await send(token);
  } catch (error) {
    if (error.code !== "inspector.unauthorized") throw error;
    inspectorTokens.delete(actor);
    return send(await inspectorToken(actor));
  }
}

const inspector = (actor, route) => `gateway/${encodeURIComponent(actor)}/inspector/${route}`;

function inspected(actor, route, signal) {
  return inspect(actor, (bearer) => look(inspector(actor, route), signal, bearer));
}

function change(actor, method, route, body) {
  return inspect(actor, (bearer) => request(method, inspector(actor, route), { body, bearer }));
}

// -- what can be asked; readings are JSON texts, so that who polls sees quickly that nothing is new ----------

const text = (value) => JSON.stringify(value);

export const metadata = (signal) => look("metadata", signal);

/** A page of actors, newest first. `about` may have name, cursor, limit, ids; `summary` loads each one's journal. */
export function actors(about, signal) {
  const query = new URLSearchParams({ namespace: "default", limit: about.limit ?? 50 });
  if (about.summary ?? true) query.set("summary", "true");
  if (about.name) query.set("name", about.name);
  if (about.cursor) query.set("cursor", about.cursor);
  if (about.ids) query.set("actor_ids", about.ids.join(","));
  if (about.destroyed) query.set("include_destroyed", "true");
  return look(`actors?${query}`, signal);
}

export const state = (actor, signal) => inspected(actor, "state", signal);
export const queue = (actor, signal) => inspected(actor, "queue", signal);
export const history = (actor, signal) => inspected(actor, "workflow-history", signal);

/** Replace the state; `json` is its text, sent as it is so that no number is rounded. */
export const setState = (actor, json) => change(actor, "PATCH", "state", `{"state":${json}}`);

export const send = (actor, name, json) =>
  change(actor, "POST", "queue", `{"name":${text(name)},"body":${json}}`);

export const dropMessage = (actor, id) => change(actor, "DELETE", `queue?id=${encodeURIComponent(id)}`);

/** Call an action with a list of arguments, as JSON text; the answer is the text of `{"output": …}`. */
export const call = (actor, action, json) =>
  change(actor, "POST", `action/${encodeURIComponent(action)}`, `{"args":${json}}`);

/** recover, cancel, undo, or rewind with `location` and `dryRun`. */
export async function workflow(actor, verb, given = {}) {
  return JSON.parse(await change(actor, "POST", `workflow/${verb}`, text(given)));
}

const one = (actor, verb = "") => `actors/${encodeURIComponent(actor)}${verb}?${NAMESPACE}`;

export const wake = (actor) => request("POST", one(actor, "/wake"));
export const putToSleep = (actor) => request("POST", one(actor, "/sleep"));
export const destroy = (actor) => request("DELETE", one(actor));

/** The id of the actor of this name and key, which is made when it isn't there. */
export async function getOrCreate(name, key) {
  const body = text({ name, key, runner_name_selector: "default", crash_policy: "sleep" });
  return JSON.parse(await request("PUT", `actors?${NAMESPACE}`, { body })).actor.actor_id;
}
