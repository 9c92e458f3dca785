// What the page asks of the engine it came from. One function sends every request, with all that it needs.

const ENGINE = new URL("..", import.meta.url);
const NAMESPACE = "namespace=default";
const TOKEN = "rivet.token";
/** Milliseconds after which a look at the engine is given up; what changes something may take its time. */
const PATIENCE = 30_000;

/** What went wrong, as the engine said it. `status` is 0 when nothing answered. */
class EngineError extends Error {
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
export const setToken = (token) => sessionStorage.setItem(TOKEN, token);

export const hasToken = () => sessionStorage.getItem(TOKEN) !== null;

async function request(method, path, { body, signal } = {}) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = {};
  if (token) headers["x-rivet-token"] = token;
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

function look(path, signal) {
  const limit = AbortSignal.timeout(PATIENCE);
  return request("GET", path, { signal: signal ? AbortSignal.any([signal, limit]) : limit });
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

const below = (actor, route, more = "") => `actors/${encodeURIComponent(actor)}/${route}?${NAMESPACE}${more}`;
const inspected = (actor, route, signal, more) => look(below(actor, `inspector/${route}`, more), signal);
const change = (actor, method, route, body, more) => request(method, below(actor, `inspector/${route}`, more), { body });

export const state = (actor, signal) => inspected(actor, "state", signal);
export const queue = (actor, signal) => inspected(actor, "queue", signal);

/** The newest entries of the journal, and how many there are. */
export const history = (actor, limit, signal) => inspected(actor, "workflow-history", signal, `&limit=${limit}`);

/** The entries that may have changed since then, and how the workflow stands. */
export const historySince = (actor, ms, signal) => inspected(actor, "workflow-history", signal, `&since=${ms}`);

/** Replace the state that had this revision; `json` is its text, sent as it is so that no number is rounded. */
export const setState = (actor, json, revision) =>
  change(actor, "PATCH", "state", `{"state":${json},"revision":${text(revision)}}`);

export const send = (actor, name, json) => change(actor, "POST", "queue", `{"name":${text(name)},"body":${json}}`);

export const dropMessage = (actor, id) => change(actor, "DELETE", "queue", undefined, `&id=${encodeURIComponent(id)}`);

/** Call an action with a list of arguments, as JSON text; the answer is the text of `{"output": …}`. */
export const call = (actor, action, json) =>
  change(actor, "POST", `action/${encodeURIComponent(action)}`, `{"args":${json}}`);

/** recover, cancel, undo, or rewind with `location` and `dryRun`. */
export async function workflow(actor, verb, given = {}) {
  return JSON.parse(await change(actor, "POST", `workflow/${verb}`, text(given)));
}

export const wake = (actor) => request("POST", below(actor, "wake"));
export const putToSleep = (actor) => request("POST", below(actor, "sleep"));
export const destroy = (actor) => request("DELETE", `actors/${encodeURIComponent(actor)}?${NAMESPACE}`);

/** The id of the actor of this name and key, which is made when it isn't there. */
export async function getOrCreate(name, key) {
  const body = text({ name, key, runner_name_selector: "default", crash_policy: "sleep" });
  return JSON.parse(await request("PUT", `actors?${NAMESPACE}`, { body })).actor.actor_id;
}
