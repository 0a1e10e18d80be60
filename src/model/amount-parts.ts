import { type Amount, countOf, eachResource } from './amount.js';

/** Amounts taken apart, for holds that get part of what they hold from victims. Replicas are not among them. */

function combined(names: Amount, one: (resource: string) => number): Amount {
  const devices: Record<string, number> = {};
  for (const name of Object.keys(names.devices ?? {})) {
    const count = one(`device/${name}`);
    if (count > 0) devices[name] = count;
  }
  return { cpuMilli: one('cpu'), memoryBytes: one('memory'), devices };
}

/** The part of `wanted` that is more than `free`. Where more is used than there is, `free` is below zero. */
export const beyond = (wanted: Amount, free: Amount): Amount =>
  combined(wanted, (resource) => {
    const count = countOf(wanted, resource) ?? 0;
    // What is not asked for is not missing, however little of it there is.
    return count === 0 ? 0 : Math.max(0, count - (countOf(free, resource) ?? 0));
  });

/** Of each resource the smaller of two counts. */
export const least = (a: Amount, b: Amount): Amount =>
  combined(a, (resource) => Math.max(0, Math.min(countOf(a, resource) ?? 0, countOf(b, resource) ?? 0)));

export function isNothing(amount: Amount): boolean {
  for (const [, count] of eachResource(amount)) if (count > 0) return false;
  return true;
}
