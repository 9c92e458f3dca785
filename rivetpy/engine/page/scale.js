// When things happened, as bars, and where on the track a time is.

import { span } from "./words.js";

/** The bars of a row, as `{ from, to, look }`. `now` is the last moment that there is something to tell of. */
export function barsOf(row, now) {
  if (row.fold) return [{ from: row.fold.start, to: row.fold.end, look: "fold" }];
  const { node } = row;
  if (!node || node.start === Infinity) return [];
  const { line } = node;
  const bars = line && !node.children.size ? entryBars(line, now) : [frame(node, now)];
  if (line?.rolledBackAt) bars.push({ from: line.rolledBackAt, to: line.rolledBackAt, look: "undone" });
  return bars;
}

function frame(node, now) {
  return { from: node.start, to: node.open ? Math.max(now, node.end) : node.end, look: "frame" };
}

function entryBars(line, now) {
  const end = line.completedAt ?? Math.max(now, line.createdAt);
  switch (line.kind) {
    case "step":
      return stepBars(line, end, now);
    case "sleep":
    case "message":
      return [{ from: line.createdAt, to: end, look: "wait" }, ...toCome(line, line.deadline, now)];
    default:
      return [{ from: line.createdAt, to: end, look: lookOf(line) }];
  }
}

/** The last attempt, after a fainter bar for those before it; what is to come after a pause. */
function stepBars(line, end, now) {
  if (line.completedAt === null && line.retryAt !== null) {
    const until = Math.max(line.startedAt, Math.min(now, line.retryAt));
    return [{ from: line.createdAt, to: until, look: "tries" }, ...toCome(line, line.retryAt, now)];
  }
  const before = line.attempts > 1 ? [{ from: line.createdAt, to: line.startedAt, look: "tries" }] : [];
  return [...before, { from: line.startedAt, to: end, look: lookOf(line) }];
}

function toCome(line, until, now) {
  return line.completedAt === null && until !== null && until > now ? [{ from: now, to: until, look: "ahead" }] : [];
}

function lookOf(line) {
  if (["failed", "exhausted"].includes(line.status)) return "fail";
  return line.completedAt === null ? "run" : "done";
}

/**
 * Where times are, in percent of the track. Even: each stretch between two events is as long as its logarithm, so that
 * milliseconds and months are seen side by side, in order. True: as long as it was.
 */
export function scaleOf(bars, even) {
  const times = [...new Set(bars.flatMap((bar) => [bar.from, bar.to]))].sort((one, other) => one - other);
  const size = (ms) => (even ? Math.log10(1 + ms) : ms);
  const ends = [0];
  for (let i = 1; i < times.length; i++) ends.push(ends[i - 1] + size(times[i] - times[i - 1]));
  const whole = ends.at(-1) || 1;
  const at = new Map(times.map((time, i) => [time, (100 * ends[i]) / whole]));
  return { at: (time) => at.get(time), ticks: ticksOf(times, at) };
}

/** Times that are told over the track, not too close to each other. */
function ticksOf(times, at) {
  const ticks = [];
  for (const time of times) {
    const place = at.get(time);
    if (ticks.length && place - ticks.at(-1).place < 18) continue;
    if (place > 72) break;
    ticks.push({ place, text: ticks.length ? `+${span(time - times[0])}` : "0" });
  }
  if (times.length > 1) ticks.push({ place: 100, text: `+${span(times.at(-1) - times[0])}`, last: true });
  return ticks;
}
