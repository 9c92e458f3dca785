// The page: which view is shown, and what is told when the engine wants a token or does not answer.

import { html, render, useEffect, useState } from "./vendor/htm-preact.js";
import { ActorView } from "./actor.js";
import { ActorsView } from "./actors.js";
import * as api from "./api.js";
import { useLive } from "./live.js";
import { Problem, useAct } from "./parts.js";

function Page() {
  const [entered, setEntered] = useState(0);
  const actor = useActorInAddress();
  const { value: engine, error } = useLive(api.metadata, [entered], { pause: 3000 });
  if (error?.needsToken) return html`<${Frame}><${TokenForm} onEnter=${() => setEntered(entered + 1)} refused=${api.hasToken() && error} /><//>`;
  return html`<${Frame} engine=${engine} error=${error}>
    ${engine && (actor === null ? html`<${ActorsView} engine=${engine} />` : html`<${ActorView} key=${actor} id=${actor} engine=${engine} />`)}
    ${!engine && !error && html`<p class="quiet">Loading…</p>`}
  <//>`;
}

function Frame({ engine, error, children }) {
  return html`
    <header class="top">
      <a class="brand" href="#/"><img src="icon.svg" alt="" width="20" height="20" />rivet</a>
      <span class="where" title=${engine?.registry}>${fileName(engine?.registry)}</span>
    </header>
    ${error && !error.needsToken && html`<p class="banner" role="alert">${error.message} ${error.status === 0 ? "What you see may be old; it comes back by itself." : ""}</p>`}
    <main>${children}</main>
    ${engine && html`<footer>rivet ${engine.version}${engine.dataDir && html`<span>data in ${engine.dataDir}</span>`}</footer>`}`;
}

const fileName = (path) => (path ? path.split(/[\\/]/).at(-1) : "");

/** `#/actors/ID`: the actor that is shown; null for all of them. */
function useActorInAddress() {
  const read = () => {
    const [, kind, id] = location.hash.split("/");
    return kind === "actors" && id ? id : null; // ids are letters and digits
  };
  const [actor, setActor] = useState(read);
  useEffect(() => {
    const follow = () => setActor(read());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return actor;
}

function TokenForm({ onEnter, refused }) {
  const [token, setToken] = useState("");
  const [enter, busy] = useAct(async () => {
    api.setToken(token.trim());
    onEnter();
  });
  return html`<form class="token card" onSubmit=${enter}>
    <h1>This engine needs its token</h1>
    <p>It is what RIVET_TOKEN holds where the engine runs. This tab keeps it until you close it.</p>
    <label class="field"><span>Token</span>
      <input type="password" autocomplete="off" required value=${token} onInput=${(event) => setToken(event.target.value)} /></label>
    <${Problem} error=${refused && { message: "The engine refused this token." }} />
    <div class="buttons"><button class="primary" disabled=${busy || !token}>Continue</button></div>
  </form>`;
}

const mount = document.getElementById("page");
mount.replaceChildren();
render(html`<${Page} />`, mount);
