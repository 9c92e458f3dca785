// Small parts that several views use.

import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { pretty } from "./json.js";
import { failureLines, plain } from "./words.js";

const MARKS = {
  completed: "✓", failed: "✕", exhausted: "✕", diverged: "✕", destroyed: "✕", cancelled: "–", interrupted: "–",
  running: "●", awake: "●", pending: "○", sleeping: "☾", rolling_back: "↺", "rolled back": "↺",
};

/** A status as mark and word. */
export function Status({ of, bare }) {
  return html`<span class=${`status ${of.replaceAll(/[ _]/g, "-")}`}>
    <span class="mark" aria-hidden="true">${MARKS[of] ?? "·"}</span>
    <span class=${bare ? "unseen" : ""}>${plain(of)}</span>
  </span>`;
}

/** A value as JSON. */
export const Value = ({ of, label }) => html`<pre class="value" tabindex="0" aria-label=${label}>${pretty(of)}</pre>`;

/** Why something failed, with causes, and the traceback for who asks for it. */
export function Failure({ of }) {
  const [[, first], ...causes] = failureLines(of);
  return html`<div class="failure">
    <p>${first}</p>
    ${causes.map(([depth, text]) => html`<p class="cause" style=${{ marginLeft: `${depth - 1}em` }}>caused by ${text}</p>`)}
    ${of.traceback && html`<details><summary>Traceback</summary><pre>${of.traceback}</pre></details>`}
  </div>`;
}

/** What an error of the engine says. */
export const Problem = ({ error }) => error && html`<p class="problem" role="alert">${error.message}</p>`;

/** A dialog over everything: Escape, and whoever opened it, `onClose` it. */
export function Dialog({ title, onClose, children }) {
  const box = useRef();
  useEffect(() => {
    const opener = document.activeElement;
    box.current.showModal();
    return () => opener?.focus();
  }, []);
  return html`<dialog ref=${box} aria-label=${title} onClose=${onClose}>
    <h2>${title}</h2>
    ${children}
  </dialog>`;
}

/** Asks before `act` is done; `act` may fail, and then says why here. */
export function Confirm({ title, yes, dangerous = true, act, onClose, disabled = false, children }) {
  const [run, busy, error] = useAct(async () => {
    await act();
    onClose();
  });
  return html`<${Dialog} title=${title} onClose=${onClose}>
    ${children}
    <${Problem} error=${error} />
    <div class="buttons">
      <button type="button" onClick=${onClose}>Go back</button>
      <button type="button" class=${dangerous ? "danger" : "primary"} disabled=${busy || disabled} onClick=${run}>${yes}</button>
    </div>
  <//>`;
}

/** `[run, busy, error]` of something that is done at a click. */
export function useAct(act) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const run = async (event) => {
    event?.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await act();
    } catch (failed) {
      setError(failed);
    }
    setBusy(false);
  };
  return [run, busy, error];
}

/** A text field for JSON that grows with what is in it. */
export function JsonField({ label, value, onInput, rows = 3, hint }) {
  return html`<label class="field">
    <span>${label}${hint && `, ${hint}`}</span>
    <textarea class="code" spellcheck="false" autocomplete="off" rows=${Math.min(24, Math.max(rows, value.split("\n").length))}
      value=${value} onInput=${(event) => onInput(event.target.value)}></textarea>
  </label>`;
}

/** A choice of names; with one name there is nothing to choose. */
export function Choice({ label, names, value, onChange }) {
  return html`<label class="field">
    <span>${label}</span>
    <select value=${value} onChange=${(event) => onChange(event.target.value)}>
      ${names.map((name) => html`<option value=${name} selected=${name === value}>${name}</option>`)}
    </select>
  </label>`;
}
