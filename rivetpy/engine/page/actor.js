// One actor: how it stands, its timeline, its state, its queue, its actions; live.

import { html, useEffect, useMemo, useRef, useState } from "./vendor/htm-preact.js";
import { ActionsCard } from "./actions.js";
import * as api from "./api.js";
import { Controls } from "./control.js";
import { newestOf } from "./history.js";
import { readTree, STILL } from "./journal.js";
import { parse } from "./json.js";
import { useLive, useNow } from "./live.js";
import { Failure, Problem, Status, Value } from "./parts.js";
import { QueueCard } from "./queue.js";
import { StateCard } from "./state.js";
import { Timeline } from "./timeline.js";
import { full, titleOf, waitText } from "./words.js";

/** So many entries of a journal are loaded; older ones when they are asked for. */
const NEWEST = 1000;

export function ActorView({ id, engine }) {
  const row = useLive((signal) => api.actors({ ids: [id], summary: false, destroyed: true }, signal), [id]);
  const [limit, setLimit] = useState(NEWEST);
  const load = useMemo(() => newestOf(id, limit), [id, limit]);
  const history = useLive(load, [id, limit]);
  const state = useLive((signal) => api.state(id, signal), [id], { read: parse });
  const queue = useLive((signal) => api.queue(id, signal), [id], { read: parse });
  const actor = row.value?.actors[0];
  useEffect(() => {
    document.title = actor ? `${titleOf(actor)} · rivet` : "rivet";
  }, [actor?.actor_id]);
  if (!row.value) return row.error ? html`<${Problem} error=${row.error} />` : html`<p class="quiet">Loading…</p>`;
  if (!actor || actor.destroy_ts !== null) return html`<${Gone} actor=${actor} />`;
  const about = engine.actorNames[actor.name]?.metadata ?? { queues: [], actions: [], workflow: false };
  return html`
    <${Head} actor=${actor} history=${history.value} />
    ${!engine.actorNames[actor.name] && html`<p class="banner">The code that runs now defines no ${actor.name}: this actor can be looked at, but does nothing.</p>`}
    <div class="columns">
      <div class="wide"><${Work} id=${id} reading=${history} onMore=${() => setLimit(limit * 4)} /></div>
      <div class="narrow">
        <${StateCard} id=${id} reading=${state} />
        <${QueueCard} id=${id} reading=${queue} names=${about.queues} />
        ${about.actions.length > 0 && html`<${ActionsCard} id=${id} names=${about.actions} />`}
      </div>
    </div>`;
}

function Head({ actor, history }) {
  const workflow = history?.workflow ?? null;
  const title = useRef();
  useEffect(() => title.current.focus({ preventScroll: true }), [actor.actor_id]);
  return html`
    <nav class="back"><a href="#/">Actors</a></nav>
    <div class="head">
      <div>
        <h1 ref=${title} tabindex="-1"><b>${actor.name}</b> <span class="key">${actor.key || "/"}</span></h1>
        <p class="facts">
          <${Status} of=${actor.connectable_ts === null ? "sleeping" : "awake"} />
          <span>created ${full(actor.create_ts)}</span>
          <span class="id">${actor.actor_id}</span>
        </p>
      </div>
      <${Controls} actor=${actor} workflow=${workflow} />
    </div>
    ${workflow && html`<${Standing} workflow=${workflow} />`}`;
}

/** What a person can do about a workflow that does not go on by itself. */
const NEXT = {
  failed: "Recover runs again what failed. To go further back, open an entry of the timeline and rewind to it.",
  cancelled: "It stays cancelled, unless it is rewound.",
  diverged: "The code has changed under its journal. Rewind to before the change, or bring the code back.",
};

/** How the workflow stands: what it waits for, or how it ended. */
function Standing({ workflow }) {
  const now = useNow(workflow.waits.some((wait) => wait.deadline !== null));
  return html`<section class=${`standing ${workflow.status}`} aria-label="Workflow">
    <p><span class="label">Workflow</span> <${Status} of=${workflow.status} /></p>
    ${workflow.waits.length > 0 && html`<ul>${workflow.waits.map((wait) => html`<li>${waitText(wait, now)} <span class="place">${wait.location}</span></li>`)}</ul>`}
    ${workflow.error && html`<${Failure} of=${workflow.error} />`}
    ${workflow.rollbackError && html`<p>The rollback failed:</p><${Failure} of=${workflow.rollbackError} />`}
    ${NEXT[workflow.status] && html`<p class="quiet">${NEXT[workflow.status]}</p>`}
    ${workflow.status === "completed" && workflow.output !== null && html`<${Value} of=${workflow.output} label="Output" />`}
  </section>`;
}

function Work({ id, reading, onMore }) {
  const { value, error } = reading;
  const tree = useMemo(() => value && readTree(value), [value]);
  if (!value?.isWorkflowEnabled) {
    return html`<section class="card"><div class="title"><h2>Timeline</h2></div>
      ${error ? html`<${Problem} error=${error} />` : html`<p class="quiet">${value ? "This actor has no workflow." : "Loading…"}</p>`}</section>`;
  }
  return html`<${Timeline} id=${id} tree=${tree} still=${STILL.has(value.workflow.status)}
    missing=${value.size - value.history.entries.length} onMore=${onMore} />`;
}

function Gone({ actor }) {
  return html`<nav class="back"><a href="#/">Actors</a></nav>
    <div class="empty"><h2>This actor is gone</h2>
      <p>${actor ? `${titleOf(actor)} was destroyed ${full(actor.destroy_ts)}.` : "There is none with this id."}</p></div>`;
}
