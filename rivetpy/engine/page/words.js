// Times, spans, waits and failures in words.

const DAY = 86_400_000;

/** A length of time in at most two units, as the command line writes it: 12ms, 1.5s, 3m04s, 2h05m, 3d04h. */
export function span(ms) {
  ms = Math.max(0, Math.round(ms));
  if (ms < 1000) return `${ms}ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h${two(Math.floor((seconds % 3600) / 60))}m`;
  const days = Math.floor(seconds / 86_400);
  return days < 100 ? `${days}d${two(Math.floor((seconds % 86_400) / 3600))}h` : `${days}d`;
}

const two = (number) => String(number).padStart(2, "0");

/** A time with its date, in local time. */
export function full(ms) {
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return `${ms} ms after 1970`; // further away than a Date can tell
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${clock(at)}`;
}

const clock = (at) => `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;

/** The time of day when that is enough, else with its date. */
function brief(ms, now) {
  return Math.abs(ms - now) < DAY / 2 ? clock(new Date(ms)) : full(ms);
}

/** A time to come, or one that is due. */
export const ahead = (ms, now) => (ms > now ? `in ${span(ms - now)} (${brief(ms, now)})` : "now");

export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

/** A status as people say it. */
export const plain = (status) => status.replaceAll("_", " ");

const WAITS = { message: "Waits for a message", sleep: "Sleeps", retry: "Waits to try again" };

/** One thing a workflow waits for; where stands apart. */
export function waitText(wait, now) {
  let text = WAITS[wait.reason] ?? `Waits: ${wait.reason}`;
  if (wait.reason === "message") text += wait.queues?.length ? ` of ${wait.queues.join(" or ")}` : " of any queue";
  if (wait.deadline === null) return text;
  const until = wait.deadline > now ? `${full(wait.deadline)}, in ${span(wait.deadline - now)}` : "now";
  return `${text} until ${until}`;
}

/** An error and what caused it, as [depth, text]; a cause that the text above ends with is not said twice. */
export const failureLines = (failure) => [[0, errorText(failure)], ...causeLines(failure, 1)];

function causeLines(failure, depth) {
  return failure.causes.flatMap((cause) => {
    const text = errorText(cause);
    if (failure.message.endsWith(text)) return causeLines(cause, depth);
    return [[depth, text], ...causeLines(cause, depth + 1)];
  });
}

/** An error in one line. */
export const errorText = (failure) => (failure.message ? `${failure.type}: ${failure.message}` : failure.type);

/** An actor in a few words. */
export const titleOf = (actor) => `${actor.name} ${actor.key || "/"}`;
