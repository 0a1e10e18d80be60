import { describe, expect, it } from 'vitest';
import { checkLabelKey, checkLabels, checkLabelValue } from './labels.js';

describe('labels', () => {
  it.each(['pool', 'berth.dev/workload', 'A_b.c-9', 'constructor', 'a'.repeat(63)])(
    'may have the key %s',
    (key) => {
      expect(checkLabelKey('metadata.labels', key)).toEqual([]);
    },
  );

  it.each([
    ['', 'the name of a key must be'],
    ['a/b/c', 'the name of a key must be'],
    ['/a', 'the part before "/" must not be empty'],
    ['A.dev/x', 'the part before "/" must be lower-case'],
    ['berth.dev/', 'the name of a key must be'],
    ['__proto__', 'the name of a key must be'],
    ['a'.repeat(64), 'at most 63 characters'],
  ])('cannot have the key %j', (key, message) => {
    expect(checkLabelKey('metadata.labels', key)).toMatchObject([{ path: 'metadata.labels', value: key }]);
    expect(checkLabelKey('metadata.labels', key)[0]?.message).toContain(message);
  });

  it('have values that are empty or like names', () => {
    for (const value of ['', 'gpu', 'v1.2_3']) expect(checkLabelValue('x', value)).toEqual([]);
    for (const value of ['-', 'a b', 'ä', 'a'.repeat(64)])
      expect(checkLabelValue('x', value)).toHaveLength(1);
  });

  it('are refused one by one, each at its place', () => {
    expect(
      checkLabels('metadata.labels', { ok: 'x', 'b ad': 'x', tier: 'no way' }).map((error) => error.path),
    ).toEqual(['metadata.labels', 'metadata.labels[tier]']);
    expect(checkLabels('metadata.labels', 'not a map')).toEqual([]);
  });
});
