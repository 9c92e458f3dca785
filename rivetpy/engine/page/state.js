// The actor's state: shown, and edited as JSON.

import { html, useState } from "./vendor/htm-preact.js";
import * as api from "./api.js";
import { compact, pretty } from "./json.js";
import { refresh } from "./live.js";
import { JsonField, Problem, useAct, Value } from "./parts.js";

export function StateCard({ id, reading }) {
  const [begun, setBegun] = useState(null);
  const { value, error } = reading;
  return html`<section class="card" aria-labelledby="state">
    <div class="title"><h2 id="state">State</h2>
      ${value && begun === null && html`<button type="button" onClick=${() => setBegun(value)}>Edit</button>`}</div>
    ${!value && (error ? html`<${Problem} error=${error} />` : html`<p class="quiet">Loading…</p>`)}
    ${value && begun === null && html`<${Value} of=${value.state} label="State" />`}
    ${value && begun !== null && html`<${Editor} id=${id} begun=${begun} current=${value} onClose=${() => setBegun(null)} />`}
  </section>`;
}

function Editor({ id, begun, current, onClose }) {
  const [text, setText] = useState(() => pretty(begun.state));
  const [seen, setSeen] = useState(begun.revision);
  const moved = seen !== current.revision;
  const [save, busy, error] = useAct(async () => {
    await api.setState(id, compact(text), moved ? current.revision : seen);
    refresh();
    onClose();
  });
  const takeNew = () => {
    setText(pretty(current.state));
    setSeen(current.revision);
  };
  return html`<form onSubmit=${save}>
    <${JsonField} label="New state" hint="as JSON" value=${text} onInput=${setText} rows=${6} />
    ${moved && html`<p class="note" role="status">The actor has changed its state meanwhile.
      <button type="button" class="plain" onClick=${takeNew}>Take the new one</button></p>`}
    <${Problem} error=${error} />
    <div class="buttons">
      <button type="button" onClick=${onClose}>Discard</button>
      <button class="primary" disabled=${busy}>${moved ? "Overwrite it" : "Save"}</button>
    </div>
  </form>`;
}
