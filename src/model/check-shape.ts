import type { FieldError } from './object.js';

/** Deeper and larger than any object we know of; what exceeds it is refused before anything walks it. */
export const depthMax = 64;
const valuesMax = 100_000;

interface Count {
  values: number;
}

/** Whether there is nothing to say, found out without making anything: nearly all bodies end here. Its depth is bounded. */
function isSound(value: object, depth: number, count: Count): boolean {
  if (depth > depthMax) return false;
  const isList = Array.isArray(value);
  const names = isList ? undefined : Object.keys(value);
  const length = isList ? value.length : (names?.length ?? 0);
  count.values += length;
  if (count.values > valuesMax) return false;
  for (let index = 0; index < length; index++) {
    const name = names?.[index];
    if (name === '__proto__') return false;
    const item: unknown =
      name === undefined
        ? (value as readonly unknown[])[index]
        : (value as Readonly<Record<string, unknown>>)[name];
    if (typeof item === 'object' && item !== null && !isSound(item, depth + 1, count)) return false;
  }
  return true;
}

/**
 * What makes JSON from a stranger unsafe to work on: nesting that overflows the stack of whoever walks it, more
 * values than are checked in a reasonable time, and keys that reach an object's prototype when they are copied.
 * Walks without recursion.
 */
export function checkShape(root: unknown): readonly FieldError[] {
  if (typeof root !== 'object' || root === null || isSound(root, 0, { values: 1 })) return [];
  const pending: { readonly value: object; readonly path: string; readonly depth: number }[] = [];
  const errors: FieldError[] = [];
  let values = 0;
  const visit = (value: unknown, path: string, depth: number): void => {
    values += 1;
    if (typeof value === 'object' && value !== null) pending.push({ value, path, depth });
  };
  visit(root, '', 0);
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, path, depth } = next;
    if (depth > depthMax) {
      return [{ path, reason: 'Invalid', message: `must not be nested more than ${depthMax} deep` }];
    }
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(item, `${path}[${index}]`, depth + 1);
    } else {
      for (const [name, item] of Object.entries(value)) {
        if (name === '__proto__') {
          errors.push({
            path: joinPath(path, name),
            reason: 'Forbidden',
            message: 'is not allowed as a name',
          });
        }
        visit(item, joinPath(path, name), depth + 1);
      }
    }
    if (values > valuesMax) {
      return [{ path: '', reason: 'TooLong', message: `must have at most ${valuesMax} values in all` }];
    }
  }
  return errors;
}

/** A field's path as people write it; names that would be ambiguous are put in brackets. */
export function joinPath(path: string, name: string): string {
  const shown = name.length > 128 ? `${name.slice(0, 128)}…` : name;
  if (!/^[A-Za-z_][\w-]*$/.test(shown)) return `${path}[${shown}]`;
  return path === '' ? shown : `${path}.${shown}`;
}
