import type { Json } from './object.js';
import { plus } from './plus.js';

/** A JSON object: not null, not a list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * `value` with what it leaves out taken from `defaults`, object by object; lists and what is not an object are
 * never merged, and an explicit null counts as left out. Takes any input, since defaults come before the schema.
 */
export function fillIn(value: unknown, defaults: Json): unknown {
  if (value === undefined || value === null) return defaults;
  if (!isObject(value) || !isObject(defaults)) return value;
  let added: Record<string, unknown> | undefined;
  for (const name of Object.keys(defaults)) {
    const own = Object.hasOwn(value, name) ? value[name] : undefined;
    const inner = fillIn(own, defaults[name] as Json);
    if (inner === own) continue;
    (added ??= {})[name] = inner;
  }
  return added === undefined ? value : plus(value, added);
}

/** What stands at a path of names in a value of any shape, or undefined. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let at = value;
  for (const name of path) at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  return at;
}
