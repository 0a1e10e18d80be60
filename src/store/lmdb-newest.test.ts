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
  const newest = new LmdbNewest((key) => {
    asked += 1;
    return files.get(key);
  });
  return { newest, files, asked: () => asked };
}

describe('the newest version of a key', () => {
  it('is read from disk once', () => {
    const { newest, asked } = disk(['/a', version(3, 'x')]);
    expect(newest.of('/a')).toMatchObject({ isDeleted: false, modRevision: 3, value: undefined });
    expect(newest.of('/a')?.modRevision).toBe(3);
    expect(asked()).toBe(1);
  });

  it('that is not there is asked for once, until it is written', () => {
    const { newest, files, asked } = disk();
    expect([newest.of('/a'), newest.of('/a')]).toEqual([undefined, undefined]);
    expect(asked()).toBe(1);
    newest.write(newest.of('/a'), '/a', version(4, undefined));
    files.set('/a', version(4, undefined));
    newest.flushed(asRevision(4));
    expect(newest.of('/a')?.isDeleted).toBe(true);
    // Whoever does not know any more what is on disk asks again.
    newest.of('/b');
    newest.forget();
    files.set('/b', version(5, 'x'));
    expect(newest.of('/b')?.modRevision).toBe(5);
  });

  it('has its bytes until the batch that wrote it is on disk, and not one before that', () => {
    const { newest } = disk(['/a', version(3, 'x')]);
    newest.write(newest.of('/a'), '/a', version(4, 'first'));
    newest.write(newest.of('/a'), '/a', version(5, 'second'));
    newest.write(newest.of('/b'), '/b', version(5, 'new'));
    newest.flushed(asRevision(4));
    expect(newest.of('/a')?.value?.toString()).toBe('second');
    expect(newest.of('/b')?.value?.toString()).toBe('new');
    newest.flushed(asRevision(5));
    expect(newest.of('/a')).toMatchObject({ modRevision: 5, value: undefined });
    expect(newest.of('/b')).toMatchObject({ modRevision: 5, value: undefined });
  });

  it('that is a deletion is known until it is on disk; then the disk is asked, which may forget it', () => {
    const { newest, files, asked } = disk(['/a', version(3, 'x')]);
    newest.write(newest.of('/a'), '/a', version(4, undefined));
    expect(newest.of('/a')?.isDeleted).toBe(true);
    files.delete('/a');
    newest.flushed(asRevision(4));
    expect(newest.of('/a')).toBeUndefined();
    expect(asked()).toBe(2);
  });

  it('that came again after a deletion outlives the flush of the deletion', () => {
    const { newest, files } = disk(['/a', version(3, 'x')]);
    newest.write(newest.of('/a'), '/a', version(4, undefined));
    newest.write(newest.of('/a'), '/a', version(5, 'again'));
    files.delete('/a');
    newest.flushed(asRevision(4));
    expect(newest.of('/a')?.value?.toString()).toBe('again');
    newest.flushed(asRevision(5));
    expect(newest.of('/a')?.modRevision).toBe(5);
  });

  it('is read anew when nobody knows what is on disk', () => {
    const { newest } = disk(['/a', version(3, 'x')]);
    newest.write(newest.of('/a'), '/a', version(4, 'lost'));
    newest.forget();
    expect(newest.of('/a')).toMatchObject({ modRevision: 3, value: undefined });
  });
});
