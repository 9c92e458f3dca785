// The messages that wait for the actor, and a new one to send.

import { html, useState } from "./vendor/htm-preact.js";
import * as api from "./api.js";
import { compact } from "./json.js";
import { refresh, useNow } from "./live.js";
import { Choice, Confirm, JsonField, Problem, useAct, Value } from "./parts.js";
import { count, span } from "./words.js";

export function QueueCard({ id, reading, names }) {
  const { value, error } = reading;
  const [dropping, setDropping] = useState(null);
  const waiting = value?.messages ?? [];
  const now = useNow(waiting.length > 0);
  return html`<section class="card" aria-labelledby="queue">
    <div class="title"><h2 id="queue">Queue</h2>${value && html`<span class="quiet">${value.size} waiting</span>`}</div>
    ${!value && (error ? html`<${Problem} error=${error} />` : html`<p class="quiet">Loading…</p>`)}
    ${waiting.length > 0 && html`<ol class="messages">${waiting.map(
      (message) => html`<li key=${message.id}>
        <div><b>${message.name}</b> <span class="quiet">#${message.id}, ${span(now - message.createdAtMs)} ago</span>
          <button type="button" class="plain" aria-label=${`Remove message ${message.id}`} onClick=${() => setDropping(message)}>Remove…</button></div>
        <${Value} of=${message.body} label=${`Message ${message.id}`} />
      </li>`,
    )}</ol>`}
    ${value?.truncated && html`<p class="quiet">${count(value.size - waiting.length, "more message")}, not shown.</p>`}
    ${names.length > 0 && html`<${Send} id=${id} names=${names} />`}
    ${value && !names.length && html`<p class="quiet">This actor declares no queues.</p>`}
    ${dropping && html`<${Confirm} title="Remove this message?" yes="Remove it" onClose=${() => setDropping(null)}
      act=${() => api.dropMessage(id, dropping.id).then(refresh)}>
      <p>The actor never gets message #${dropping.id} of ${dropping.name}.</p>
    <//>`}
  </section>`;
}

function Send({ id, names }) {
  const [name, setName] = useState(names[0]);
  const [body, setBody] = useState("{}");
  const [told, setTold] = useState("");
  const [send, busy, error] = useAct(async () => {
    setTold("");
    await api.send(id, name, compact(body));
    setTold(`Sent to ${name}.`);
    refresh();
  });
  return html`<form onSubmit=${send} aria-label="Send a message">
    <${Choice} label="Send to" names=${names} value=${name} onChange=${setName} />
    <${JsonField} label="Message" hint="as JSON" value=${body} onInput=${setBody} rows=${2} />
    <${Problem} error=${error} />
    <div class="buttons"><span role="status" class="told">${told}</span><button disabled=${busy}>Send</button></div>
  </form>`;
}
