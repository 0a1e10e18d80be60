import { describe, expect, it } from 'vitest';
import { checkName } from './names.js';

describe('a name', () => {
  it.each([
    ['fraud', 'label'],
    ['a', 'label'],
    ['7-eleven', 'label'],
    ['a'.repeat(63), 'label'],
    ['node-gpu-7.eu', 'subdomain'],
    ['a'.repeat(253), 'subdomain'],
  ] as const)('may be %s as a %s', (name, form) => {
    expect(checkName('metadata.name', name, form)).toEqual([]);
  });

  it.each([
    ['', 'label', 'Required', 'must not be empty'],
    ['a'.repeat(64), 'label', 'TooLong', 'must have at most 63 characters'],
    ['a'.repeat(254), 'subdomain', 'TooLong', 'must have at most 253 characters'],
    ['a.b', 'label', 'Invalid', 'must be lower-case letters'],
    ['Fraud', 'subdomain', 'Invalid', 'must be lower-case letters'],
    ['-a', 'label', 'Invalid', 'must be lower-case letters'],
    ['a-', 'subdomain', 'Invalid', 'must be lower-case letters'],
    ['a..b', 'subdomain', 'Invalid', 'at both ends of each part'],
    ['a\n', 'label', 'Invalid', 'must be lower-case letters'],
    ['../etc', 'subdomain', 'Invalid', 'must be lower-case letters'],
    ['__proto__', 'label', 'Invalid', 'must be lower-case letters'],
    [7, 'label', 'Invalid', 'must be a string'],
    [undefined, 'label', 'Required', 'must not be empty'],
    [null, 'label', 'Invalid', 'must be a string'],
  ] as const)('cannot be %j as a %s', (name, form, reason, message) => {
    const [error, ...others] = checkName('metadata.name', name, form);
    expect(others).toEqual([]);
    expect(error).toMatchObject({ path: 'metadata.name', reason });
    expect(error?.message).toContain(message);
  });
});
