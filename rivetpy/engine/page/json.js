// JSON that keeps every number as it was written: 1.0 stays 1.0, and 20 digits stay 20 digits.

const canKeep = "rawJSON" in JSON;

/** The value of JSON text; a number that JavaScript would write otherwise is kept as its text. */
export const parse = (text) => (canKeep ? JSON.parse(text, keep) : JSON.parse(text));

function keep(_, value, context) {
  if (typeof value !== "number" || context?.source === undefined || String(value) === context.source) return value;
  return JSON.rawJSON(context.source);
}

/** The value on one line. */
export const short = (value) => JSON.stringify(value);

/** The value over several lines; what is short stays on one. */
export function pretty(value) {
  const line = short(value);
  return line.length <= 36 ? line : JSON.stringify(value, null, 2);
}

/** The text without what needs not be there. Raises SyntaxError that says where it is no JSON. */
export const compact = (text) => short(parse(text));
