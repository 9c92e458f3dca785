// Changing how an actor goes on: recover, rewind with a look at what that means, undo, cancel, sleep, destroy.

import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import * as api from "./api.js";
import { nameOf, STILL } from "./journal.js";
import { refresh } from "./live.js";
import { Confirm, Problem, useAct } from "./parts.js";
import { count, titleOf } from "./words.js";

/** So many locations are listed; the rest is a number. */
const LISTED = 12;

export function Controls({ actor, workflow }) {
  const [asked, setAsked] = useState(null);
  const id = actor.actor_id;
  const awake = actor.connectable_ts !== null;
  const [toggle, , error] = useAct(() => (awake ? api.putToSleep(id) : api.wake(id)).then(refresh));
  const ask = (what) => () => setAsked(what);
  return html`<div class="controls">
    ${workflow?.status === "failed" && html`<button type="button" class="primary" onClick=${ask("recover")}>Recover…</button>`}
    <button type="button" onClick=${toggle}>${awake ? "Put to sleep" : "Wake"}</button>
    <${Menu} label="More">
      ${workflow && html`<button type="button" onClick=${ask("rewind")}>Rewind to the start…</button>
        <button type="button" onClick=${ask("undo")}>Undo the last rewind…</button>`}
      ${workflow && !STILL.has(workflow.status) && html`<button type="button" onClick=${ask("cancel")}>Cancel the workflow…</button>`}
      <button type="button" class="danger" onClick=${ask("destroy")}>Destroy…</button>
    <//>
    <${Problem} error=${error} />
    ${asked && html`<${Question} what=${asked} actor=${actor} onClose=${ask(null)} />`}
  </div>`;
}

function Question({ what, actor, onClose }) {
  const id = actor.actor_id;
  const done = (act) => () => act().then(refresh);
  switch (what) {
    case "rewind":
      return html`<${Rewind} id=${id} location=${null} onClose=${onClose} />`;
    case "recover":
      return html`<${Confirm} title="Recover the workflow?" yes="Recover it" dangerous=${false} onClose=${onClose} act=${done(() => api.workflow(id, "recover"))}>
        <p>What failed gets all its attempts again. What is completed stays and does not run again.</p><//>`;
    case "undo":
      return html`<${Confirm} title="Undo the last rewind?" yes="Undo it" onClose=${onClose} act=${done(() => api.workflow(id, "undo"))}>
        <p>The journal from before it comes back. What was recorded since then goes.</p><//>`;
    case "cancel":
      return html`<${Confirm} title="Cancel the workflow?" yes="Cancel it" onClose=${onClose} act=${done(() => api.workflow(id, "cancel"))}>
        <p>It ends for good, where it is. Nothing is rolled back.</p><//>`;
    case "destroy":
      return html`<${Confirm} title=${`Destroy ${titleOf(actor)}?`} yes="Destroy it" onClose=${onClose} act=${done(() => api.destroy(id))}>
        <p>Its state, queue, journal and everything else it has stored go. This can't be undone.</p><//>`;
  }
}

/** What a rewind removes and runs again, as the engine foresees it, before it is done. */
export function Rewind({ id, location, onClose }) {
  const [plan, setPlan] = useState(null);
  const [look, , error] = useAct(async () => setPlan(await api.workflow(id, "rewind", { location, dryRun: true })));
  useEffect(() => void look(), []);
  const title = location === null ? "Rewind to the start?" : "Rewind to here?";
  return html`<${Confirm} title=${title} yes="Rewind" disabled=${plan === null} onClose=${onClose}
    act=${() => api.workflow(id, "rewind", { location }).then(refresh)}>
    ${location !== null && html`<p class="place">${location.split("/").map(nameOf).join(" / ")}</p>`}
    ${plan ? html`<${Plan} plan=${plan} />` : !error && html`<p class="quiet">Looking at what that means…</p>`}
    <${Problem} error=${error} />
  <//>`;
}

function Plan({ plan }) {
  const again = plan.runsAgain;
  return html`<div class="plan">
    <p>${count(plan.removed.length, "entry goes", "entries go")} from the journal, this one and all later ones.
      ${plan.returnedMessages > 0 && ` ${count(plan.returnedMessages, "message goes", "messages go")} back into the queue.`}</p>
    ${again.length === 0 && html`<p>No completed step runs again.</p>`}
    ${again.length > 0 && html`<p>${count(again.length, "completed step runs", "completed steps run")} again:</p>
      <ul>${again.slice(0, LISTED).map((place) => html`<li class="place">${place}</li>`)}</ul>
      ${again.length > LISTED && html`<p>and ${count(again.length - LISTED, "more", "more")}.</p>`}`}
    <p class="quiet">Undo brings all of it back, until the next rewind.</p>
  </div>`;
}

/** A button that opens a few others; they close it, and so do Escape and a click elsewhere. */
function Menu({ label, children }) {
  const box = useRef();
  const close = () => {
    box.current.open = false;
  };
  const leave = (event) => {
    if (!box.current.contains(event.relatedTarget)) close();
  };
  const escape = (event) => {
    if (event.key !== "Escape") return;
    close();
    box.current.querySelector("summary").focus();
  };
  return html`<details class="menu" ref=${box} onFocusOut=${leave} onKeyDown=${escape}>
    <summary>${label}</summary>
    <div onClick=${close}>${children}</div>
  </details>`;
}
