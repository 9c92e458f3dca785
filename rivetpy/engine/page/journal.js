// The journal as the inspector sends it, read into a tree of places: entries, iterations, branches.

const KINDS = { versioncheck: "version", rollbackcheckpoint: "checkpoint" };
/** The workflow does nothing more by itself. */
export const STILL = new Set(["completed", "failed", "cancelled", "diverged"]);

/** The tree of a `workflow-history` answer. Every place has `location`, `part`, `start`, `end` and `children`. */
export function readTree(answer) {
  const root = place("", "", null);
  if (answer.history === null) return root;
  const { nameRegistry, entries, entryMetadata } = answer.history;
  const parts = nameRegistry.map(segment);
  const lines = entries.map((entry) => readLine(entry, entryMetadata[entry.id], parts));
  for (const line of lines.sort((one, other) => one.seq - other.seq)) add(root, line);
  measure(root);
  return root;
}

/** A name as a part of a location. */
function segment(name) {
  const coded = name.replaceAll("%", "%25").replaceAll("/", "%2F");
  return coded.startsWith("~") ? `%7E${coded.slice(1)}` : coded;
}

/** A part of a location as people read it. */
export const nameOf = (part) => part.replaceAll("%7E", "~").replaceAll("%2F", "/").replaceAll("%25", "%");

const readable = (location) => location.split("/").map(nameOf).join(" / ");

function readLine(entry, about, names) {
  const { tag, val } = entry.kind;
  const kind = tag.slice("Workflow".length, -"Entry".length).toLowerCase();
  return {
    parts: entry.location.map((piece) => (piece.tag === "WorkflowNameIndex" ? names[piece.val] : `~${piece.val.iteration}`)),
    seq: about.seq,
    kind: KINDS[kind] ?? kind,
    status: about.rollbackCompletedAt ? "rolled back" : about.status.toLowerCase(),
    attempts: kind === "step" ? about.attempts : 0,
    createdAt: about.createdAt,
    startedAt: about.lastAttemptAt ?? about.createdAt,
    completedAt: about.completedAt,
    retryAt: about.retryAt ?? null,
    rolledBackAt: about.rollbackCompletedAt,
    deadline: val.deadline ?? null,
    iteration: val.iteration ?? null,
    queues: val.queues ?? null,
    branches: Object.entries(val.branches ?? {}).map(([name, branch]) => ({
      name,
      status: branch.status.toLowerCase(),
      value: branch.output,
      failure: branch.failure,
      won: name === val.winner,
    })),
    value: valueOf(kind, val),
    failure: about.failure ?? null,
    rollbackFailure: about.rollbackFailure ?? null,
    reason: about.reason ?? val.source ?? null,
  };
}

function valueOf(kind, val) {
  if (kind === "message") return Array.isArray(val.messageData) ? val.messageData.map(message) : message(val.messageData);
  if (kind === "loop") return val.output ?? val.state;
  if (kind === "versioncheck") return { resolved: val.resolved, latest: val.latest };
  if (kind === "race" && val.winner !== null) return val.branches[val.winner].output;
  return val.output ?? null;
}

/** A received message without the mark that tells it apart on the wire. */
function message(received) {
  if (received === null) return null;
  const { __rivetWorkflowQueueMessage: _, ...told } = received;
  return told;
}

function place(part, location, parent) {
  return { part, location, parent, title: readable(location), line: null, branch: null, children: new Map(), start: Infinity, end: -Infinity, open: false };
}

function add(root, line) {
  let node = root;
  for (const part of line.parts) node = below(node, part);
  node.line = line;
  for (const branch of line.branches) below(node, segment(branch.name)).branch = branch;
}

function below(node, part) {
  let child = node.children.get(part);
  if (!child) {
    child = place(part, node.location ? `${node.location}/${part}` : part, node);
    node.children.set(part, child);
  }
  return child;
}

/** From when to when each place is; `open` when something in it has not ended. */
function measure(node) {
  const { line } = node;
  if (line) {
    node.start = line.createdAt;
    node.end = Math.max(line.completedAt ?? line.startedAt, line.rolledBackAt ?? 0);
    node.open = line.completedAt === null;
  }
  for (const child of node.children.values()) {
    measure(child);
    node.start = Math.min(node.start, child.start);
    node.end = Math.max(node.end, child.end);
    node.open ||= child.open;
  }
  if (line && line.completedAt !== null) node.open = false; // what a race left behind goes on in nobody
  if (node.branch && !["running", "pending"].includes(node.branch.status)) node.open = false;
}

/** The iteration of a loop that a place is; null for any other place. */
export function iterationOf(node) {
  const found = /^~(\d+)$/.exec(node.part);
  return found ? Number(found[1]) : null;
}

/** Every entry at and below a place. */
export function* linesOf(node) {
  if (node.line) yield node.line;
  for (const child of node.children.values()) yield* linesOf(child);
}
