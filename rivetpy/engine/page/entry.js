// All that one entry of the journal holds, under its row.

import { html, useState } from "./vendor/htm-preact.js";
import { Rewind } from "./control.js";
import { Failure, Status, Value } from "./parts.js";
import { ahead, full, plain, span } from "./words.js";

export function Entry({ id, node, now }) {
  const [rewinding, setRewinding] = useState(false);
  const { line, branch } = node;
  return html`<div class="entry">
    <dl>${factsOf(node, now).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
    ${(line?.failure ?? branch?.failure) && html`<${Failure} of=${line?.failure ?? branch.failure} />`}
    ${line?.rollbackFailure && html`<p>Undoing it failed:</p><${Failure} of=${line.rollbackFailure} />`}
    ${valueOf(node) !== null && html`<${Value} of=${valueOf(node)} label="Value" />`}
    ${line?.branches.length > 0 && html`<${Branches} of=${line.branches} />`}
    ${line && html`<div class="buttons"><button type="button" onClick=${() => setRewinding(true)}>Rewind to here…</button></div>`}
    ${rewinding && html`<${Rewind} id=${id} location=${node.location} onClose=${() => setRewinding(false)} />`}
  </div>`;
}

const valueOf = ({ line, branch }) => (line ? line.value : (branch?.value ?? null));

function factsOf(node, now) {
  const { line, branch } = node;
  const facts = [["location", html`<span class="place">${node.location}</span>`]];
  if (branch) facts.push(["branch", html`<${Status} of=${branch.status} />${branch.won && " the winner"}`]);
  if (!line) return facts;
  const why = line.reason && line.reason !== line.status ? ` (${plain(line.reason)})` : "";
  facts.push([plain(line.kind), html`<${Status} of=${line.status} />${why}`]);
  if (line.attempts > 1) facts.push(["attempts", line.attempts]);
  if (line.queues) facts.push(["queues", line.queues.join(", ")]);
  facts.push(["began", full(line.createdAt)]);
  if (line.attempts > 1) facts.push(["last attempt", full(line.startedAt)]);
  if (line.completedAt !== null) facts.push(["ended", `${full(line.completedAt)}, after ${span(line.completedAt - line.createdAt)}`]);
  if (line.retryAt !== null && line.completedAt === null) facts.push(["tries again", ahead(line.retryAt, now)]);
  if (line.deadline !== null) facts.push(["deadline", line.completedAt === null ? ahead(line.deadline, now) : full(line.deadline)]);
  if (line.rolledBackAt) facts.push(["rolled back", full(line.rolledBackAt)]);
  return facts;
}

const Branches = ({ of }) => html`<ul class="branches">${of.map(
  (branch) => html`<li><b>${branch.name}</b> <${Status} of=${branch.status} />${branch.won && " the winner"}</li>`,
)}</ul>`;
