import { describe, expect, it } from 'vitest';
import type { Commit } from './checker.js';
import { WatchWitness, type WatchedWatcher } from './watch-witness.js';

const commit = (
  revision: number,
  ...changes: readonly (readonly [key: string, after: unknown])[]
): Commit => ({
  revision,
  atMs: revision,
  by: 'server-1',
  changes: changes.map(([key, after]) => ({ key, before: undefined, after })),
});

/** Revisions 1 to 5; /o/a and /o/b change together at 3, and 4 is about something else. */
function history(): WatchWitness {
  const witness = new WatchWitness('/o/');
  witness.onCommit(commit(1, ['/o/a', 1]));
  witness.onCommit(commit(2, ['/o/b', 2]));
  witness.onCommit(commit(3, ['/o/a', 3], ['/o/b', undefined]));
  witness.onCommit(commit(4, ['/x/c', 4]));
  witness.onCommit(commit(5, ['/o/c', 5]));
  return witness;
}

function listedAt1(witness = history()): WatchedWatcher {
  const watcher = witness.watcher('ann');
  expect(watcher.listed(1, [['/o/a', 1]])).toEqual([]);
  return watcher;
}
const b2 = { revision: 2, key: '/o/b', after: 2 };
const a3 = { revision: 3, key: '/o/a', after: 3 };
const b3 = { revision: 3, key: '/o/b', after: undefined };
const c5 = { revision: 5, key: '/o/c', after: 5 };

describe('[S11] a watcher sees each change once, in order', () => {
  it.each([[[b2, a3, b3, c5]], [[b2, b3, a3, c5]]])('%o is all there was after 1', (events) => {
    const witness = history();
    const watcher = listedAt1(witness);
    expect(events.flatMap((event) => watcher.delivered(event))).toEqual([]);
    expect(watcher.reached(5)).toEqual([]);
    expect(witness.checked).toBe(6);
  });

  it.each([
    ['a change that is missing', [a3], 'ann was never given the change of /o/b at 2'],
    ['half a commit that is missing', [b2, a3, c5], 'ann was never given the change of /o/b at 3'],
    ['a change that comes twice', [b2, b2], 'ann was given the change of /o/b at 2 again or out of order'],
    ['half a commit that comes twice', [b2, a3, a3], 'the change of /o/a at 3 again or out of order'],
    [
      'a change that comes late',
      [b2, a3, b3, c5, a3],
      'the change of /o/a at 3 again or out of order: it stood at 5',
    ],
    ['a change that never was', [b2, { ...a3, key: '/o/z' }], 'the change of /o/z at 3, which never was'],
    ['a change that was another', [{ ...b2, after: 9 }], 'as 9, not 2'],
    ['a deletion that was none', [{ ...b2, after: undefined }], 'as nothing, not 2'],
  ])('%s is noticed', (_, events, what) => {
    const watcher = listedAt1();
    const found = events.flatMap((event) => watcher.delivered(event));
    expect(found.map(({ message }) => message).join()).toContain(what);
    expect(found).toHaveLength(1);
  });

  it('what is missing at the end is noticed', () => {
    const watcher = listedAt1();
    watcher.delivered(b2);
    watcher.delivered(a3);
    expect(watcher.reached(4).map(({ message }) => message)).toEqual([
      'ann was never given the change of /o/b at 3',
    ]);
    expect(watcher.reached(4)).toEqual([]);
  });

  it('whoever is told to list again has missed nothing, and gets nothing before it does', () => {
    const watcher = listedAt1();
    watcher.gap();
    expect(watcher.reached(5)).toEqual([]);
    expect(watcher.delivered(c5)[0]?.message).toContain('before it listed (again)');
    expect(watcher.listed(3, [['/o/a', 3]])).toEqual([]);
    expect(watcher.delivered(c5)).toEqual([]);
    expect(watcher.reached(5)).toEqual([]);
  });

  it.each([
    ['leaves something out', [['/o/a', 1]], 'listed nothing under /o/b, not 2'],
    [
      'shows what is not there',
      [
        ['/o/a', 1],
        ['/o/b', 2],
        ['/o/c', 5],
      ],
      'listed 5 under /o/c, not nothing',
    ],
    [
      'shows what is old or new',
      [
        ['/o/a', 3],
        ['/o/b', 2],
      ],
      'listed 3 under /o/a, not 1',
    ],
  ] as const)('a list that %s is noticed', (_, entries, what) => {
    expect(history().watcher().listed(2, entries)[0]?.message).toContain(what);
  });
});
