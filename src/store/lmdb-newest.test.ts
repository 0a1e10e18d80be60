import { describe, expect, it } from 'vitest';
import { asRevision } from './contract.js';
import type { Version } from './lmdb-layout.js';
import { LmdbNewest } from './lmdb-newest.js';

const version = (modRevision: number, text: string | undefined): Version => ({
  isDeleted: text === undefined,
  modRevision: asRevision(modRevision),
  createRevision: asRevision(1),
  previous: asRevision(0),
  value: Buffer.from(text ?? ''),
});

/** A disk that counts how often it is asked. */
function disk(...records: readonly (readonly [key: string, version: Version])[]) {
  const files = new Map(records);
  let asked = 0;
  const newest = new LmdbNewest({
    current: (key) => {
      asked += 1;
      return files.get(key);
    },
    keysFrom: (from, count) =>
      [...files.keys()]
        .toSorted()
        .filter((key) => key >= from)
        .slice(0, count),
  });
  /** A transaction of its own that writes one key. */
  const write = (key: string, { isDeleted, modRevision, createRevision, value }: Version): void => {
    newest.begin();
    newest.write(newest.of(key), key, isDeleted, modRevision, createRevision, value);
  };
  /** Asks for so many keys that are not there that it pays to learn those that are, and then learns. */
  const learn = (turns: number): void => {
    for (let at = 0; at < 1_000; at++) newest.of(`/none/${at}`);
    for (let turn = 0; turn < turns; turn++) newest.learnSome();
  };
  return { newest, files, write, learn, asked: () => asked };
}

describe('the newest version of a key', () => {
  it('is read from disk once', () => {
    const { newest, asked } = disk(['/a', version(3, 'x')]);
    expect(newest.of('/a')).toMatchObject({ isDeleted: false, modRevision: 3, value: undefined });
    expect(newest.of('/a')?.modRevision).toBe(3);
    expect(asked()).toBe(1);
  });

  it('that a transaction has asked for is not looked up again when it is written', () => {
    const { newest, asked } = disk(['/b', version(3, 'x')]);
    newest.begin();
    for (const key of ['/a', '/b', '/c', '/d']) newest.of(key);
    expect(asked()).toBe(4);
    expect(newest.ofWritten('/a')).toBeUndefined();
    expect(newest.ofWritten('/b')).toBe(newest.of('/b'));
    expect(newest.ofWritten('/d')).toBeUndefined();
    expect(asked()).toBe(4);
    // Neither one in another order nor one that nobody has asked for.
    expect(newest.ofWritten('/c')).toBeUndefined();
    expect(newest.ofWritten('/e')).toBeUndefined();
    expect(asked()).toBe(6);
  });

  it('that one transaction has asked for is looked up again by the next', () => {
    const { newest, write } = disk();
    newest.begin();
    newest.of('/a');
    write('/a', version(4, 'x'));
    newest.begin();
    expect(newest.ofWritten('/a')?.modRevision).toBe(4);
  });

  it('has its bytes until the batch that wrote it is on disk, and not one before that', () => {
    const { newest, write } = disk(['/a', version(3, 'x')]);
    write('/a', version(4, 'first'));
    write('/a', version(5, 'second'));
    write('/b', version(5, 'new'));
    newest.flushed(asRevision(4));
    expect(newest.of('/a')?.value?.toString()).toBe('second');
    expect(newest.of('/b')?.value?.toString()).toBe('new');
    newest.flushed(asRevision(5));
    expect(newest.of('/a')).toMatchObject({ modRevision: 5, value: undefined });
    expect(newest.of('/b')).toMatchObject({ modRevision: 5, value: undefined });
  });

  it('that is a deletion is known until a compaction has dropped it; then the disk is asked', () => {
    const { newest, files, write, asked } = disk(['/a', version(3, 'x')], ['/b', version(4, undefined)]);
    write('/a', version(5, undefined));
    expect(newest.of('/a')?.isDeleted).toBe(true);
    expect(newest.of('/b')?.isDeleted).toBe(true);
    newest.flushed(asRevision(5));
    files.clear();
    newest.compacted(asRevision(4));
    expect(newest.of('/a')).toMatchObject({ isDeleted: true, modRevision: 5, value: undefined });
    expect(asked()).toBe(2);
    expect(newest.of('/b')).toBeUndefined();
    newest.compacted(asRevision(5));
    expect(newest.of('/a')).toBeUndefined();
    expect(asked()).toBe(4);
  });

  it('that came again after a deletion outlives the flush of the deletion', () => {
    const { newest, files, write } = disk(['/a', version(3, 'x')]);
    write('/a', version(4, undefined));
    write('/a', version(5, 'again'));
    files.delete('/a');
    newest.flushed(asRevision(4));
    newest.compacted(asRevision(4));
    expect(newest.of('/a')?.value?.toString()).toBe('again');
    newest.flushed(asRevision(5));
    newest.compacted(asRevision(5));
    expect(newest.of('/a')?.modRevision).toBe(5);
  });

  it('is read anew when nobody knows what is on disk', () => {
    const { newest, write } = disk(['/a', version(3, 'x')]);
    write('/a', version(4, 'lost'));
    newest.forget();
    expect(newest.of('/a')).toMatchObject({ modRevision: 3, value: undefined });
  });
});

describe('once all keys on disk are known', () => {
  const many = Array.from({ length: 1_200 }, (_, at) => [`/k/${at}`, version(3, 'x')] as const);

  it('one that is not there is not asked for, and one that is there only once', () => {
    const { newest, learn, asked } = disk(...many);
    // 500 names in a turn.
    learn(2);
    newest.of('/new');
    expect(asked()).toBe(1_001);
    newest.learnSome();
    expect([newest.of('/new'), newest.of('/other')]).toEqual([undefined, undefined]);
    expect(asked()).toBe(1_001);
    for (let times = 0; times < 2; times++) expect(newest.of('/k/77')?.modRevision).toBe(3);
    expect(asked()).toBe(1_002);
  });

  it('learning does not replace what is known better', () => {
    const { newest, write, learn } = disk(...many);
    write('/k/5', version(4, 'newer'));
    learn(3);
    expect(newest.of('/k/5')?.value?.toString()).toBe('newer');
  });

  it('what comes and goes is known: created, deleted, dropped by a compaction, created again', () => {
    const { newest, files, write, learn, asked } = disk(...many);
    learn(3);
    write('/new', version(4, 'x'));
    write('/k/7', version(5, undefined));
    files.set('/new', version(4, 'x'));
    files.set('/k/7', version(5, undefined));
    newest.flushed(asRevision(5));
    expect(newest.of('/new')?.modRevision).toBe(4);
    expect(newest.of('/k/7')).toMatchObject({ isDeleted: true, modRevision: 5 });
    files.delete('/k/7');
    newest.compacted(asRevision(5));
    expect(newest.of('/k/7')).toBeUndefined();
    write('/k/7', version(6, 'again'));
    write('/new', version(7, undefined));
    newest.flushed(asRevision(7));
    write('/new', version(8, 'again'));
    newest.compacted(asRevision(7));
    expect(newest.of('/k/7')?.modRevision).toBe(6);
    expect(newest.of('/new')?.modRevision).toBe(8);
    // Only for what /k/7 was before it was deleted.
    expect(asked()).toBe(1_001);
  });

  it('one that a compaction drops before anybody asked for it is not there', () => {
    const { newest, files, learn, asked } = disk(['/a', version(3, undefined)]);
    learn(1);
    files.delete('/a');
    newest.compacted(asRevision(3));
    expect([newest.of('/a'), newest.of('/a')]).toEqual([undefined, undefined]);
    expect(asked()).toBe(1_001);
  });

  it('and nobody knows any more what is on disk, each is asked for again', () => {
    const { newest, files, learn, asked } = disk(...many);
    learn(3);
    newest.forget();
    files.set('/new', version(5, 'x'));
    newest.learnSome();
    expect(newest.of('/new')?.modRevision).toBe(5);
    expect(asked()).toBe(1_001);
  });

  it('but there are more than can be known, each is asked for, and what is not on disk yet is still known', () => {
    const { newest, write, learn, asked } = disk(...many);
    learn(3);
    write('/waits', version(9, 'x'));
    newest.begin();
    newest.of('/k/1');
    for (let at = 0; at < 499_998; at++) {
      const key = `/more/${at}`;
      const value = Buffer.alloc(0);
      newest.write(undefined, key, false, asRevision(5), asRevision(5), value);
      if (at % 10_000 === 0) newest.flushed(asRevision(5));
    }
    expect(newest.of('/waits')?.value?.toString()).toBe('x');
    const before = asked();
    expect(newest.of('/more/499997')?.modRevision).toBe(5);
    newest.of('/none');
    newest.learnSome();
    newest.of('/none');
    expect(newest.ofWritten('/k/1')?.modRevision).toBe(3);
    expect(asked()).toBe(before + 3);
  });
});
