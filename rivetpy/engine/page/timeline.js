// The workflow's journal as a tree of rows with bars over time; rows open to what their entry holds.

import { html, useMemo, useState } from "./vendor/htm-preact.js";
import { Entry } from "./entry.js";
import { nameOf } from "./journal.js";
import { useNow } from "./live.js";
import { Status } from "./parts.js";
import { nextMore, rowsOf } from "./rows.js";
import { barsOf, scaleOf } from "./scale.js";
import { short } from "./json.js";
import { ahead, count, span } from "./words.js";

export function Timeline({ id, tree, still, missing, onMore }) {
  const [shut, setShut] = useState(new Set());
  const [more, setMore] = useState(new Map());
  const [chosen, setChosen] = useState(null);
  const [even, setEven] = useState(true);
  const ticking = useNow(!still);
  const now = still ? tree.end : Math.max(ticking, tree.end);
  const rows = useMemo(() => rowsOf(tree, shut, more), [tree, shut, more]);
  const drawn = rows.map((row) => ({ row, bars: barsOf(row, now) }));
  const scale = scaleOf(drawn.flatMap(({ bars }) => bars), even);
  const toggle = (row) => setShut(row.closed ? without(shut, row.id) : new Set([...shut, row.id]));
  const unfold = ({ fold }) => setMore(new Map(more).set(fold.of, nextMore(more.get(fold.of))));
  const [focused, setFocused] = useState(null);
  const first = rows.some((row) => row.id === focused) ? focused : rows[0]?.id;
  const act = { toggle, unfold, choose: (row) => setChosen(row.id === chosen ? null : row.id), setFocused };
  return html`<section class="card timeline" aria-labelledby="timeline">
    <div class="title"><h2 id="timeline">Timeline</h2>
      <label class="check"><input type="checkbox" checked=${!even} onChange=${() => setEven(!even)} />True to scale</label></div>
    ${rows.length === 0 && html`<p class="quiet">Nothing is recorded yet.</p>`}
    ${missing > 0 && html`<p class="quiet">${count(missing, "earlier entry", "earlier entries")} not shown.
      <button type="button" class="plain" onClick=${onMore}>Show more</button></p>`}
    ${rows.length > 0 && html`
      <div class="axis" aria-hidden="true"><div class="track">
        ${scale.ticks.map((tick) => html`<span class=${tick.last ? "last" : ""} style=${{ left: `${tick.place}%` }}>${tick.text}</span>`)}</div></div>
      <div role="treegrid" aria-labelledby="timeline" onKeyDown=${(event) => steer(event, rows, act)}>
        ${drawn.map(({ row, bars }) => html`<${Row} key=${row.id} row=${row} bars=${bars} scale=${scale} now=${now} id=${id}
          chosen=${row.id === chosen} reachable=${row.id === first} act=${act} />`)}
      </div>`}
  </section>`;
}

const without = (set, each) => new Set([...set].filter((other) => other !== each));

function Row({ row, bars, scale, now, id, chosen, reachable, act }) {
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
  if (line?.failure || branch?.failure) return errorOf(line?.failure ?? branch.failure);
  if (!line) return branch && branch.value !== null ? short(branch.value) : "";
  if (line.completedAt === null) {
    if (line.retryAt !== null) return `tries again ${ahead(line.retryAt, now)}`;
    if (line.deadline !== null) return `${line.kind === "sleep" ? "wakes" : "gives up"} ${ahead(line.deadline, now)}`;
    if (line.kind === "message") return `waits for ${line.queues?.join(" or ") ?? "any queue"}`;
    if (line.kind === "loop") return `iteration ${line.iteration}`;
    return "";
  }
  if (line.kind === "message") return messagesOf(line.value);
  if (line.kind === "version") return `version ${line.value.resolved}`;
  return line.value === null || line.value === undefined ? "" : short(line.value);
}

const errorOf = (failure) => (failure.message ? `${failure.type}: ${failure.message}` : failure.type);

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

/** Arrows walk through the rows, open and close them; Enter shows what an entry holds. */
function steer(event, rows, act) {
  if (event.target.getAttribute("role") !== "row") return;
  const at = rows.findIndex((row) => row.id === event.target.dataset.row);
  const row = rows[at];
  const go = (index) => rows[index] && event.currentTarget.querySelector(`[data-row="${CSS.escape(rows[index].id)}"]`)?.focus();
  const moves = {
    ArrowDown: () => go(at + 1),
    ArrowUp: () => go(at - 1),
    Home: () => go(0),
    End: () => go(rows.length - 1),
    ArrowRight: () => (row.closed ? act.toggle(row) : go(at + 1)),
    ArrowLeft: () => (row.closed === false ? act.toggle(row) : go(parentOf(rows, at))),
    Enter: () => event.target.click(),
    " ": () => event.target.click(),
  };
  if (!moves[event.key]) return;
  event.preventDefault();
  moves[event.key]();
}

function parentOf(rows, at) {
  let above = at;
  while (above >= 0 && rows[above].depth >= rows[at].depth) above--;
  return above;
}
