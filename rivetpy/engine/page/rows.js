// Which places of the tree stand in which row, with older iterations and long lists folded.

import { iterationOf, linesOf } from "./journal.js";
import { count } from "./words.js";

/** Iterations shown before the one that runs; without a wish, the older ones are one row. */
const ITERATIONS = 2;
/** Other children shown of one place. */
const CHILDREN = 200;
/** How many more a fold opens at first. */
const STEP = 20;

/**
 * The rows from the top down: `{ id, node, depth, fold?, closed? }`. `shut` has the ids of places that were closed,
 * `more` how many children beyond the usual are wanted of a place.
 */
export function rowsOf(root, shut, more) {
  const rows = [];
  walk(root, 0);
  return rows;

  function walk(node, depth) {
    const children = [...node.children.values()];
    const hidden = hiddenOf(children, more.get(node.location) ?? 0);
    const gone = prunedOf(node, children);
    if (gone) rows.push({ id: `${node.location}/…gone`, depth, note: gone });
    if (hidden.length) rows.push(foldRow(node, hidden, depth));
    for (const child of children.slice(hidden.length)) {
      const closed = child.children.size ? shut.has(child.location) : undefined;
      rows.push({ id: child.location, node: child, depth, closed });
      if (closed === false) walk(child, depth + 1);
    }
  }
}

/** How many more children a fold shows when it is opened once again. */
export const nextMore = (shown = 0) => (shown ? shown * 2 : STEP);

function hiddenOf(children, more) {
  const iterations = children.length > 0 && children.every((child) => iterationOf(child) !== null);
  const shown = (iterations ? ITERATIONS : CHILDREN) + more;
  return children.slice(0, children.length > shown + 1 ? -shown : 0);
}

function foldRow(node, hidden, depth) {
  const fold = { start: Math.min(...ends(hidden, "start")), end: Math.max(...ends(hidden, "end")), of: node.location };
  const iterations = iterationOf(hidden[0]) !== null;
  const label = iterations ? `~${iterationOf(hidden[0])} to ~${iterationOf(hidden.at(-1))}` : "earlier";
  return { id: `${node.location}/…`, depth, fold: { ...fold, label, note: countOf(hidden, iterations) } };
}

/** At most a few, so that a spread of them is no problem: the first and the last bound all between. */
const ends = (nodes, side) => [nodes[0][side], nodes.at(-1)[side]];

function countOf(nodes, iterations) {
  const statuses = new Map();
  let retries = 0;
  for (const node of nodes) {
    for (const line of linesOf(node)) {
      statuses.set(line.status, (statuses.get(line.status) ?? 0) + 1);
      retries += Math.max(0, line.attempts - 1);
    }
  }
  const told = [...statuses].map(([status, number]) => `${number} ${status}`);
  if (retries) told.push(count(retries, "retry", "retries"));
  return [count(nodes.length, iterations ? "iteration" : "place"), ...told].join(", ");
}

function prunedOf(node, children) {
  if (node.line?.kind !== "loop" || !children.length) return "";
  const first = iterationOf(children[0]);
  return first ? `${count(first, "earlier iteration")}, pruned from the journal` : "";
}
