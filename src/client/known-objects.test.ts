import { describe, expect, it } from 'vitest';
import type { BerthObject } from '../model/object.js';
import { type Change, KnownObjects } from './known-objects.js';

const object = (name: string, version: number, uid = name): BerthObject => ({
  apiVersion: 'berth.dev/v1',
  kind: 'Workload',
  metadata: { name, uid, resourceVersion: String(version), generation: 1, creationTimestamp: '' },
});
const change = (type: Change['type'], name: string, version: number): Change => ({
  type,
  object: object(name, version),
});
const shown = (changes: Iterable<Change | undefined>): string[] =>
  [...changes].map((each) =>
    each === undefined
      ? '–'
      : `${each.type} ${each.object.metadata.name}@${each.object.metadata.resourceVersion}`,
  );

describe('what a consumer knows', () => {
  it('resumes at the newest version it was told, and tells no change twice that the server tells again', () => {
    const known = new KnownObjects();
    expect(shown(known.relisted([object('c', 3)], 5))).toEqual(['ADDED c@3']);
    known.seen(change('ADDED', 'a', 7));
    known.seen(change('DELETED', 'c', 8));
    known.seen(change('ADDED', 'b', 8));
    expect(known.resumeAfter).toBe(8);
    const again = [
      change('DELETED', 'c', 8),
      change('ADDED', 'b', 8),
      change('MODIFIED', 'a', 8),
      change('ADDED', 'c', 9),
    ];
    expect(shown(again.map((event) => known.seen(event)))).toEqual(['–', '–', 'MODIFIED a@8', 'ADDED c@9']);
    expect(known.resumeAfter).toBe(9);
  });

  it('resumes after a bookmark', () => {
    const known = new KnownObjects();
    known.seen(change('ADDED', 'a', 7));
    known.bookmarked(20);
    expect(known.resumeAfter).toBe(20);
    known.bookmarked(19);
    expect(known.resumeAfter).toBe(20);
  });

  it('turns the difference to a new list into changes, with an object made anew under its name as two', () => {
    const known = new KnownObjects();
    const before = ['same', 'changed', 'gone', 'anew'].map((name) => object(name, 1));
    expect(shown(known.relisted(before, 1))).toHaveLength(4);
    const after = [object('same', 1), object('changed', 5), object('anew', 6, 'another'), object('new', 7)];
    expect(shown(known.relisted(after, 9))).toEqual([
      'DELETED gone@1',
      'DELETED anew@1',
      'MODIFIED changed@5',
      'ADDED anew@6',
      'ADDED new@7',
    ]);
    expect(known.resumeAfter).toBe(9);
    expect(shown(known.relisted(after, 10))).toEqual([]);
  });
});
