// The workflow's journal as a tree of rows with bars over time; rows open to what their entry holds.

import { html, useMemo, useState } from "./vendor/htm-preact.js";
import { useNow } from "./live.js";
import { Row } from "./row.js";
import { nextMore, rowsOf } from "./rows.js";
import { barsOf, scaleOf } from "./scale.js";
import { count } from "./words.js";

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
