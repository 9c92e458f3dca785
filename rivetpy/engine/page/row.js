// One row of the timeline: its name and what came of it, its bars, how long it took.

import { html } from "./vendor/htm-preact.js";
import { Entry } from "./entry.js";
import { nameOf } from "./journal.js";
import { short } from "./json.js";
import { Status } from "./parts.js";
import { ahead, errorText, span } from "./words.js";

/** One row; with what its entry holds below it when it is `chosen`. */
export function Row({ row, bars, scale, now, id, chosen, reachable, act }) {
  const { node } = row;
  const click = () => (row.fold ? act.unfold(row) : node && act.choose(row));
  return html`
    <div role="row" class=${`row ${row.fold || row.note ? "folded" : ""} ${chosen ? "chosen" : ""}`} data-row=${row.id}
      tabindex=${reachable ? 0 : -1} aria-level=${row.depth + 1} aria-expanded=${row.closed === undefined ? null : !row.closed}
      aria-selected=${chosen} onClick=${click} onFocus=${() => act.setFocused(row.id)}>
      <div role="gridcell" class="name" style=${{ "--depth": row.depth }}>
        ${row.closed === undefined ? html`<span class="twist"></span>` : html`<span class=${`twist ${row.closed ? "closed" : "opened"}`}
          aria-hidden="true" onClick=${(event) => { event.stopPropagation(); act.toggle(row); }}></span>`}
        <${Label} row=${row} now=${now} />
      </div>
      <div role="gridcell" class="track">${bars.map((bar) => html`<${Bar} bar=${bar} scale=${scale} />`)}</div>
      <div role="gridcell" class="took">${tookOf(row, now)}</div>
    </div>
    ${chosen && node && html`<div role="row" class="opened-entry"><div role="gridcell"><${Entry} id=${id} node=${node} now=${now} /></div></div>`}`;
}

function Label({ row, now }) {
  if (row.note) return html`<span class="note">${row.note}</span>`;
  if (row.fold) return html`<span class="label">${row.fold.label}</span><span class="note">${row.fold.note}</span>`;
  const { line, branch, part } = row.node;
  const status = line?.status ?? branch?.status;
  return html`
    ${status && html`<${Status} of=${status} bare />`}
    <span class=${`label ${line || branch ? "" : "scope"}`}>${nameOf(part)}</span>
    ${line && html`<span class="kind">${line.kind}</span>`}
    ${line?.attempts > 1 && html`<span class="attempts" title=${`${line.attempts} attempts`}>×${line.attempts}</span>`}
    ${branch?.won && html`<span class="won">winner</span>`}
    <span class="note">${noteOf(row.node, now)}</span>`;
}

/** What an entry came to or waits for, in a few words. */
function noteOf({ line, branch }, now) {
  if (line?.failure || branch?.failure) return errorText(line?.failure ?? branch.failure);
  if (!line) return cameTo(branch?.value);
  if (line.completedAt === null) {
    if (line.retryAt !== null) return `tries again ${ahead(line.retryAt, now)}`;
    if (line.deadline !== null) return `${line.kind === "sleep" ? "wakes" : "gives up"} ${ahead(line.deadline, now)}`;
    if (line.kind === "message") return `waits for ${line.queues?.join(" or ") ?? "any queue"}`;
    if (line.kind === "loop") return `iteration ${line.iteration}`;
    return "";
  }
  if (line.kind === "message") return messagesOf(line.value);
  if (line.kind === "version") return `version ${line.value.resolved}`;
  return cameTo(line.value);
}

const cameTo = (value) => (value === null || value === undefined ? "" : `\u2192 ${short(value)}`);

function messagesOf(value) {
  if (value === null) return "nothing came in time";
  return [value].flat().map((each) => `${each.name} ${short(each.body)}`).join(", ");
}

function tookOf({ node, fold }, now) {
  if (fold) return span(fold.end - fold.start);
  if (!node || node.start === Infinity) return "";
  return span((node.open ? now : node.end) - node.start);
}

const TITLES = { tries: "earlier attempts", ahead: "to come", wait: "waited", fail: "failed", undone: "rolled back" };

function Bar({ bar, scale }) {
  const from = scale.at(bar.from);
  return html`<span class=${`bar ${bar.look}`} title=${TITLES[bar.look]} style=${{ left: `${from}%`, width: `${scale.at(bar.to) - from}%` }}></span>`;
}
