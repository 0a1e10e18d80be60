import type { BerthObject } from '../client/client.js';
import { usageFailure } from './command-failure.js';
import { type FieldPath, nearestField, parseFieldPath, valueAt } from './field-path.js';

/** In the order of --sort-by: numbers by value, the rest as text, what lacks the field last. */
export function sorted<T extends BerthObject>(objects: readonly T[], sortBy: string): readonly T[] {
  if (objects.length === 0) return objects;
  const path = parseFieldPath(sortBy, '--sort-by');
  if (objects.every((object) => valueAt(object, path) === undefined)) {
    const near = nearestField(objects[0], path);
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    throw usageFailure(`--sort-by: none of the objects has ${sortBy}${hint}`);
  }
  return objects.toSorted((a, b) => compare(a, b, path));
}

function compare(a: BerthObject, b: BerthObject, path: FieldPath): number {
  const [left, right] = [valueAt(a, path), valueAt(b, path)];
  if (left === undefined || right === undefined)
    return Number(left === undefined) - Number(right === undefined);
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
  return text(left).localeCompare(text(right), 'en', { numeric: true });
}
