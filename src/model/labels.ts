import { checkName } from './names.js';
import type { FieldError } from './object.js';

const partLengthMax = 63;
const partShape = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const partAllowed = "letters, digits, '-', '_' and '.', with a letter or digit at both ends";

/** A label or annotation key: a name, or a DNS prefix and a name (berth.dev/workload). */
export function checkLabelKey(path: string, key: string): FieldError[] {
  const slash = key.indexOf('/');
  const name = key.slice(slash + 1);
  const errors = slash < 0 ? [] : checkName(path, key.slice(0, slash), 'subdomain');
  if (errors.length > 0) {
    return [{ path, value: key, reason: 'Invalid', message: `the part before "/" ${errors[0]?.message}` }];
  }
  if (name.length > partLengthMax) {
    const message = `the name of a key must have at most ${partLengthMax} characters`;
    return [{ path, value: key, reason: 'TooLong', message }];
  }
  if (!partShape.test(name)) {
    return [{ path, value: key, reason: 'Invalid', message: `the name of a key must be ${partAllowed}` }];
  }
  return [];
}

/** A label's value: empty, or like the name of a key. */
export function checkLabelValue(path: string, value: string): FieldError[] {
  if (value.length > partLengthMax) {
    return [{ path, value, reason: 'TooLong', message: `must have at most ${partLengthMax} characters` }];
  }
  if (value !== '' && !partShape.test(value)) {
    return [{ path, value, reason: 'Invalid', message: `must be empty or ${partAllowed}` }];
  }
  return [];
}

/** All that is wrong with a map of labels. What is no map of strings is the schema's to refuse. */
export function checkLabels(path: string, labels: unknown): FieldError[] {
  if (typeof labels !== 'object' || labels === null || Array.isArray(labels)) return [];
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(labels) as [string, unknown][]) {
    errors.push(...checkLabelKey(path, key));
    if (typeof value === 'string') errors.push(...checkLabelValue(`${path}[${key}]`, value));
  }
  return errors;
}
