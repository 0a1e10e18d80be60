import { describe, expect, it } from 'vitest';
import { mergeApplied } from './merge.js';
import { schema } from './workload.fixture.js';

const merged = (live: object, applied: object): unknown =>
  mergeApplied({ spec: live }, { spec: applied }, schema);

describe('merging an applied configuration', () => {
  it('goes into maps and keeps what it does not mention', () => {
    expect(merged({ replicas: 1, nodeSelector: { a: '1' } }, { nodeSelector: { b: '2' } })).toEqual({
      spec: { replicas: 1, nodeSelector: { a: '1', b: '2' } },
    });
  });

  it('merges keyed lists item by item: live order first, new items in the order applied', () => {
    const live = { env: [{ name: 'B', secret: 's' }, { name: 'A' }] };
    const applied = {
      env: [{ name: 'D' }, { name: 'A', value: '1' }, { name: 'C' }, { name: 'B', value: '2' }],
    };
    expect(merged(live, applied)).toEqual({
      spec: {
        env: [
          { name: 'B', secret: 's', value: '2' },
          { name: 'A', value: '1' },
          { name: 'D' },
          { name: 'C' },
        ],
      },
    });
  });

  it('unites sets, and replaces atomic lists and maps', () => {
    expect(
      merged(
        { zones: ['b', 'a'], command: ['x', 'y'], near: { region: 'eu', maxMs: 1 } },
        { zones: ['c', 'a'], command: ['z'], near: { region: 'us' } },
      ),
    ).toEqual({ spec: { zones: ['b', 'a', 'c'], command: ['z'], near: { region: 'us' } } });
  });

  it.each([
    [{ env: 'text' }, { env: [{ name: 'A' }] }],
    [{ env: [{ name: 'A' }] }, { env: 'text' }],
    [{ env: [{ name: 'A' }] }, { env: [{ name: 'B' }, { name: 'B' }] }],
    [{ nodeSelector: [] }, { nodeSelector: {} }],
    [{ zones: [{}] }, { zones: ['a'] }],
    [{ replicas: { a: 1 } }, { replicas: null }],
  ])('replaces %j by %j, whatever the schema expects', (live, applied) => {
    expect(merged(live, applied)).toEqual({ spec: applied });
  });

  it('makes __proto__ an ordinary field', () => {
    const result = mergeApplied({ a: {} }, JSON.parse('{"a":{"__proto__":{"polluted":true}}}'), undefined);
    expect(JSON.stringify(result)).toBe('{"a":{"__proto__":{"polluted":true}}}');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(Object.getPrototypeOf((result as { a: object }).a)).toBe(Object.prototype);
  });
});
