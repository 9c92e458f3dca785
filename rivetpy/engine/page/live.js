// Readings that stay fresh: asked for again and again, gently, and only while somebody looks.

import { useEffect, useRef, useState } from "./vendor/htm-preact.js";

/** No more than a fifth of the time goes into asking, however long an answer takes. */
const SHARE = 5;
const changed = new EventTarget();

/** Something was changed here: have everything shown asked for at once. */
export const refresh = () => changed.dispatchEvent(new Event("change"));

/**
 * The newest reading of `load(signal)`, which promises a text, as `{ value, error }`; asked for anew when one of
 * `inputs` changes, and every `pause` ms. `value` stays the same object for as long as the text is the same, and
 * stays when an answer fails; with `keep` it also stays until there is one for new inputs.
 */
export function useLive(load, inputs, { pause = 1000, read = JSON.parse, keep = false } = {}) {
  const [reading, setReading] = useState({});
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    if (!keep) setReading({});
    const ended = new AbortController();
    keepAsking((signal) => latest.current(signal), read, pause, setReading, ended.signal);
    return () => ended.abort();
  }, inputs);
  return reading;
}

async function keepAsking(load, read, pause, setReading, ended) {
  let seen = {};
  let wake = () => {};
  let news = false;
  const stir = () => {
    news = true;
    wake();
  };
  changed.addEventListener("change", stir, { signal: ended });
  document.addEventListener("visibilitychange", () => wake(), { signal: ended });
  while (!ended.aborted) {
    const begun = performance.now();
    let rest = pause;
    news = false;
    try {
      const text = await load(ended);
      if (ended.aborted) return;
      if (text !== seen.text) seen = { text, value: read(text) };
      setReading((last) => (last.value === seen.value && !last.error ? last : { value: seen.value }));
      rest = Math.max(pause, (performance.now() - begun) * SHARE);
    } catch (error) {
      if (ended.aborted) return;
      setReading((last) => ({ value: last.value, error }));
      rest = Math.min(pause, 1000);
    }
    while (!news && !ended.aborted) {
      await new Promise((done) => {
        wake = done;
        if (!document.hidden) setTimeout(done, rest);
      });
      if (!document.hidden) break;
    }
  }
}

/** What a person writes, once they pause. */
export function useSettled(text, ms = 200) {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), ms);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** The time now, renewed while `ticking`. */
export function useNow(ticking = true) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!ticking) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [ticking]);
  return now;
}
