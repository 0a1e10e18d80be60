import type { FieldError } from './object.js';

/** The two forms of names that DNS knows: one label, or labels joined by dots. */
export type NameForm = 'label' | 'subdomain';

const forms = {
  label: {
    lengthMax: 63,
    shape: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
    allowed: "lower-case letters, digits and '-', with a letter or digit at both ends",
  },
  subdomain: {
    lengthMax: 253,
    shape: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
    allowed: "lower-case letters, digits, '-' and '.', with a letter or digit at both ends of each part",
  },
} as const;

/** Everything that is wrong with a name. Tenants and workloads take a label (63 characters), other objects a subdomain (253). */
export function checkName(path: string, value: unknown, form: NameForm): FieldError[] {
  const { lengthMax, shape, allowed } = forms[form];
  if (value === undefined || value === '') {
    return [{ path, value, reason: 'Required', message: `must not be empty: use ${allowed}` }];
  }
  if (typeof value !== 'string') {
    return [{ path, value, reason: 'Invalid', message: `must be a string of ${allowed}` }];
  }
  if (value.length > lengthMax) {
    return [{ path, value, reason: 'TooLong', message: `must have at most ${lengthMax} characters` }];
  }
  if (!shape.test(value)) return [{ path, value, reason: 'Invalid', message: `must be ${allowed}` }];
  return [];
}
