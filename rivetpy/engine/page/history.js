// A journal as text, loaded anew only when something in it may have changed.

import * as api from "./api.js";

/** A loader of the newest entries. It asks first for the few that changed last, which tell whether others did. */
export function newestOf(actor, limit) {
  let whole = null;
  let latest = null;
  let since = 0;
  return async (signal) => {
    if (whole !== null) {
      const now = await api.historySince(actor, since, signal);
      if (now === latest) return whole;
      latest = now;
    }
    whole = await api.history(actor, limit, signal);
    since = lastTimeIn(JSON.parse(whole));
    return whole;
  };
}

/** When the last of these entries was begun, finished, or undone. */
function lastTimeIn({ history }) {
  let last = 0;
  for (const about of Object.values(history?.entryMetadata ?? {})) {
    last = Math.max(last, about.createdAt, about.completedAt ?? 0, about.rollbackCompletedAt ?? 0);
  }
  return last;
}
