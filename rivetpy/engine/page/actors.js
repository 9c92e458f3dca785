// All actors: a page at a time, those of one name, or those whose key or id holds some text; live.

import { html, useEffect, useState } from "./vendor/htm-preact.js";
import * as api from "./api.js";
import { useLive, useNow, useSettled } from "./live.js";
import { Problem, Status, useAct, Dialog, Choice } from "./parts.js";
import { count, span } from "./words.js";

const PAGE = 50;
/** A search looks through so many actors, newest first, before it asks whether to go on. */
const SEARCHED = 1000;

/** What was looked for stays while one actor is shown. */
const kept = { name: "", text: "" };

export function ActorsView({ engine }) {
  const [name, setName] = useState(kept.name);
  const [text, setText] = useState(kept.text);
  Object.assign(kept, { name, text });
  useEffect(() => {
    document.title = "Actors · rivet";
  }, []);
  const sought = useSettled(text.trim());
  const [creating, setCreating] = useState(false);
  const names = Object.keys(engine.actorNames);
  return html`
    <div class="head">
      <h1>Actors</h1>
      <div class="filters">
        <input type="search" aria-label="Filter by key or id" placeholder="Filter by key or id" value=${text}
          onInput=${(event) => setText(event.target.value)} />
        <select aria-label="Actors of this name" value=${name} onChange=${(event) => setName(event.target.value)}>
          <option value="">All names</option>
          ${names.map((each) => html`<option value=${each} selected=${each === name}>${each}</option>`)}
        </select>
        <button type="button" onClick=${() => setCreating(true)}>New actor…</button>
      </div>
    </div>
    ${sought ? html`<${Found} name=${name} text=${sought} />` : html`<${Pages} key=${name} name=${name} engine=${engine} />`}
    ${creating && html`<${Create} names=${names} first=${name} onClose=${() => setCreating(false)} />`}`;
}

function Pages({ name, engine }) {
  const [cursors, setCursors] = useState([]);
  const cursor = cursors.at(-1);
  const { value, error } = useLive((signal) => api.actors({ name, cursor, limit: PAGE }, signal), [cursor], { keep: true });
  if (!value) return error ? html`<${Problem} error=${error} />` : html`<p class="quiet">Loading…</p>`;
  if (!value.actors.length && !cursors.length) return html`<${Nobody} name=${name} engine=${engine} />`;
  const next = value.pagination.cursor;
  return html`
    <${Table} actors=${value.actors} />
    ${(next || cursor) && html`<nav class="pages" aria-label="Pages">
      <button type="button" disabled=${!cursor} onClick=${() => setCursors(cursors.slice(0, -1))}>Newer</button>
      <span>Page ${cursors.length + 1}</span>
      <button type="button" disabled=${!next} onClick=${() => setCursors([...cursors, next])}>Older</button>
    </nav>`}`;
}

function Found({ name, text }) {
  const [limit, setLimit] = useState(SEARCHED);
  const { value, error } = useLive((signal) => search(name, text, limit, signal), [name, text, limit], { pause: 2000, keep: true });
  if (!value) return error ? html`<${Problem} error=${error} />` : html`<p class="quiet">Looking…</p>`;
  return html`
    ${value.actors.length ? html`<${Table} actors=${value.actors} />` : html`<p class="empty">No actor has “${text}” in its key or id.</p>`}
    <p class="quiet">${count(value.matches, "match", "matches")} among ${count(value.seen, "actor")}${value.matches > PAGE ? `; the newest ${PAGE} are shown` : ""}.
      ${value.more && html` <button type="button" class="plain" onClick=${() => setLimit(limit * 4)}>Look through older ones</button>`}</p>`;
}

/** Looks through rows, which is cheap, and asks for the summaries of those that match. */
async function search(name, text, limit, signal) {
  const wanted = text.toLowerCase();
  const ids = [];
  let seen = 0;
  let cursor = null;
  do {
    const page = JSON.parse(await api.actors({ name, cursor, limit: SEARCHED, summary: false }, signal));
    seen += page.actors.length;
    ids.push(...page.actors.filter((actor) => holds(actor, wanted)).map((actor) => actor.actor_id));
    cursor = page.pagination.cursor;
  } while (cursor && seen < limit);
  const shown = ids.slice(0, PAGE);
  const found = shown.length ? JSON.parse(await api.actors({ ids: shown }, signal)).actors : [];
  return JSON.stringify({ actors: found, matches: ids.length, seen, more: cursor !== null });
}

const holds = (actor, text) => (actor.key ?? "").toLowerCase().includes(text) || actor.actor_id.startsWith(text);

function Table({ actors }) {
  const now = useNow();
  const titles = ["Actor", "Status", "Workflow", "Waits for", "Wakes", "Queue", "Entries", "Age"];
  return html`<table class="actors">
    <thead><tr>${titles.map((title) => html`<th scope="col" class=${title.toLowerCase().replace(" ", "-")}>${title}</th>`)}</tr></thead>
    <tbody>${actors.map((actor) => html`<${Row} key=${actor.actor_id} actor=${actor} now=${now} />`)}</tbody>
  </table>`;
}

function Row({ actor, now }) {
  const { summary } = actor;
  return html`<tr>
    <th scope="row" class="actor"><a href=${`#/actors/${encodeURIComponent(actor.actor_id)}`}>
      <b>${actor.name}</b> <span class="key">${actor.key || "/"}</span></a></th>
    <td class="status"><${Status} of=${summary.status} /></td>
    <td class="workflow" data-label="workflow">${summary.workflowStatus ? html`<${Status} of=${summary.workflowStatus} />` : html`<span class="quiet">none</span>`}</td>
    <td class="waits-for">${summary.waitingFor.map((wait) => html`<span>${wait}</span>`)}</td>
    <td class="wakes">${summary.nextWakeAt !== null && (summary.nextWakeAt > now ? `in ${span(summary.nextWakeAt - now)}` : "due")}</td>
    <td class="queue" data-label="queue"><span class=${summary.queueSize ? "" : "quiet"}>${summary.queueSize}</span></td>
    <td class="entries" data-label="entries">${summary.historySize.toLocaleString("en")}</td>
    <td class="age" data-label="age">${span(now - actor.create_ts)}</td>
  </tr>`;
}

function Nobody({ name, engine }) {
  const names = Object.entries(engine.actorNames);
  const [queueOwner] = names.filter(([, { metadata }]) => metadata.queues.length);
  if (name) return html`<p class="empty">There is no ${name} yet.</p>`;
  return html`<div class="empty">
    <h2>No actors yet</h2>
    <p>The first message or call makes one.</p>
    ${queueOwner && html`<p><code>rivet send ${queueOwner[1].metadata.queues[0]} '{}'</code></p>`}
    <p class="quiet">This engine runs ${names.map(([each]) => each).join(", ") || "no actors at all"}.</p>
  </div>`;
}

function Create({ names, first, onClose }) {
  const [name, setName] = useState(first || (names[0] ?? ""));
  const [key, setKey] = useState("main");
  const [create, busy, error] = useAct(async () => {
    const id = await api.getOrCreate(name, key);
    onClose();
    location.hash = `#/actors/${encodeURIComponent(id)}`;
  });
  return html`<${Dialog} title="New actor" onClose=${onClose}>
    <form onSubmit=${create}>
      <${Choice} label="Name" names=${names} value=${name} onChange=${setName} />
      <label class="field"><span>Key, its parts joined with /</span>
        <input value=${key} onInput=${(event) => setKey(event.target.value)} /></label>
      <${Problem} error=${error} />
      <div class="buttons">
        <button type="button" onClick=${onClose}>Go back</button>
        <button class="primary" disabled=${busy || !name}>Create or open</button>
      </div>
    </form>
  <//>`;
}
