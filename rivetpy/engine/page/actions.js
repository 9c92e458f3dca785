// The actor's actions: one is called with arguments, and what it returned is shown.

import { html, useState } from "./vendor/htm-preact.js";
import * as api from "./api.js";
import { compact, parse } from "./json.js";
import { refresh } from "./live.js";
import { Choice, JsonField, Problem, useAct, Value } from "./parts.js";

export function ActionsCard({ id, names }) {
  const [name, setName] = useState(names[0]);
  const [args, setArgs] = useState("[]");
  const [answer, setAnswer] = useState(null);
  const [call, busy, error] = useAct(async () => {
    setAnswer(null);
    const list = compact(args);
    if (!list.startsWith("[")) throw new SyntaxError("The arguments are a JSON list, such as [1, \"two\"].");
    setAnswer({ name, output: parse(await api.call(id, name, list)).output });
    refresh();
  });
  const choose = (other) => {
    setName(other);
    setArgs("[]");
  };
  return html`<section class="card" aria-labelledby="actions">
    <div class="title"><h2 id="actions">Actions</h2></div>
    <form onSubmit=${call} aria-label="Call an action">
      <${Choice} label="Call" names=${names} value=${name} onChange=${choose} />
      <${JsonField} label="Arguments" hint="a JSON list" value=${args} onInput=${setArgs} rows=${1} />
      <${Problem} error=${error} />
      <div class="buttons"><button disabled=${busy}>${busy ? "Calling…" : "Call"}</button></div>
    </form>
    <div role="status">${answer && html`<p class="quiet">${answer.name} returned</p><${Value} of=${answer.output} label="What the action returned" />`}</div>
  </section>`;
}
