import { describe, expect, it } from 'vitest';
import { fieldErrorText } from './field-error-text.js';
import type { FieldError } from './object.js';

const error = (changes: Partial<FieldError>): FieldError => ({
  path: 'spec.replicas',
  reason: 'Invalid',
  message: 'must be at least 0',
  ...changes,
});

describe('what is wrong with a field', () => {
  it.each<[string, Partial<FieldError>]>([
    ['must be at least 0 (it is -1)', { value: -1 }],
    ['must be at least 0 (it is null)', { value: null }],
    ['must be at least 0 (it is "many")', { value: 'many' }],
    ['must be at least 0', {}],
    ['must not be empty', { value: '', reason: 'Required', message: 'must not be empty' }],
    ['unknown field', { value: 3, reason: 'Unknown', message: 'unknown field' }],
    ['"web" is there twice', { value: 'web', message: '"web" is there twice' }],
  ])('is told as: %s', (text, changes) => {
    expect(fieldErrorText(error(changes))).toBe(text);
  });

  it('shows no more than the beginning of a long value', () => {
    const text = fieldErrorText(error({ value: 'x'.repeat(10_000) }));
    expect(text.length).toBeLessThan(120);
    expect(text).toMatch(/\(it is "x+…\)$/);
  });

  it.each([
    'spec.template.run.env[2].value',
    'metadata.annotations[db-password]',
    'metadata.annotations.apiToken',
    'spec.clientSecret',
  ])('never shows the value of %s', (path) => {
    expect(fieldErrorText(error({ path, value: 'hunter2' }))).toBe('must be at least 0');
  });
});
