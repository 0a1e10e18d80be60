import { describe, expect, it } from 'vitest';
import type { BerthObject } from '../client/client.js';
import { parseExpectation } from './expectation.js';

const object = (generation: number, status: Record<string, unknown>): BerthObject => ({
  apiVersion: 'berth.dev/v1',
  kind: 'Workload',
  metadata: { name: 'x', uid: 'u', resourceVersion: '1', generation, creationTimestamp: '' },
  status,
});
const ready = (status: string, observedGeneration?: number): Record<string, unknown> => ({
  conditions: [{ type: 'Ready', status, reason: 'Because', message: 'of it', observedGeneration }],
});

describe('what wait --for waits for', () => {
  it('a condition is met by its type and status, whatever the case', () => {
    expect(parseExpectation('condition=ready').isMet(object(1, ready('True')))).toBe(true);
    expect(parseExpectation('condition=Ready').isMet(object(1, ready('False')))).toBe(false);
    expect(parseExpectation('condition=Ready=false').isMet(object(1, ready('False')))).toBe(true);
    expect(parseExpectation('condition=Ready').isMet(undefined)).toBe(false);
    expect(parseExpectation('condition=Ready').seen(object(1, ready('False')))).toBe(
      'it is False (Because: of it)',
    );
  });

  it('a condition that was concluded from an older spec does not count', () => {
    expect(parseExpectation('condition=Ready').isMet(object(2, ready('True', 1)))).toBe(false);
    expect(parseExpectation('condition=Ready').isMet(object(2, ready('True', 2)))).toBe(true);
  });

  it('a field is met by its value, or by being there', () => {
    const seen = object(1, { phase: 'Done', count: 2, word: 'a=b' });
    expect(parseExpectation('jsonpath={.status.phase}=Done').isMet(seen)).toBe(true);
    expect(parseExpectation('jsonpath={.status.count}=2').isMet(seen)).toBe(true);
    expect(parseExpectation('jsonpath=.status.word=a=b').isMet(seen)).toBe(true);
    expect(parseExpectation('jsonpath={.status.phase}').isMet(seen)).toBe(true);
    expect(parseExpectation('jsonpath={.status.other}').isMet(seen)).toBe(false);
    expect(parseExpectation('jsonpath={.status.phse}=Done').seen(seen)).toContain('did you mean phase?');
  });

  it('a deletion is met by absence', () => {
    expect(parseExpectation('delete').isMet(undefined)).toBe(true);
    expect(parseExpectation('delete').isMet(object(1, {}))).toBe(false);
  });
});
