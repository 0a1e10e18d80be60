import { nearest } from '../model/nearest.js';
import { usageFailure } from './command-failure.js';

/** A path to a field of an object: names, and indices of lists. */
export type FieldPath = readonly (string | number)[];

const step = /^(?:\.?([A-Za-z_$][\w$-]*)|\[(\d{1,6})\]|\['([^']+)'\]|\["([^"]+)"\])/;

/** Reads the simple paths of kubectl's jsonpath: .status.phase, {.spec.x[0]}, metadata.labels['a.b/c']. */
export function parseFieldPath(text: string, option: string): FieldPath {
  const inner = /^\{(.*)\}$/.exec(text)?.[1] ?? text;
  const path: (string | number)[] = [];
  let rest = inner.replace(/^\$/, '');
  while (rest !== '') {
    const match = step.exec(rest);
    if (match === null) {
      throw usageFailure(
        `${option}: ${JSON.stringify(text)} is not a path to a field at ${JSON.stringify(rest)}; write .spec.replicas or .status.conditions[0].type`,
      );
    }
    const [whole, name, index, quoted, doubled] = match;
    path.push(index === undefined ? (name ?? quoted ?? doubled ?? '') : Number(index));
    rest = rest.slice(whole.length);
  }
  if (path.length === 0) throw usageFailure(`${option}: the path is empty; write .spec.replicas`);
  return path;
}

/** The value at a path; undefined where there is none. */
export function valueAt(object: unknown, path: FieldPath): unknown {
  let value = object;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string | number, unknown>)[part];
  }
  return value;
}

/** What the first name of a path that the object lacks is most likely a typo of. */
export function nearestField(object: unknown, path: FieldPath): string | undefined {
  for (const [index, part] of path.entries()) {
    const parent = valueAt(object, path.slice(0, index));
    if (typeof parent !== 'object' || parent === null) return undefined;
    if (!Object.hasOwn(parent, part)) return nearest(String(part), Object.keys(parent));
  }
  return undefined;
}
