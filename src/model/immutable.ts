import { isDeepStrictEqual } from 'node:util';
import type { FieldError } from './object.js';

/** The error of a field that may not change once it is written. */
export function checkUnchanged(path: string, value: unknown, before: unknown): readonly FieldError[] {
  if (isDeepStrictEqual(value, before)) return [];
  return [{ path, value, reason: 'Forbidden', message: 'cannot be changed once it is written' }];
}
