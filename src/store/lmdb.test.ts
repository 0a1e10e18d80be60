import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { fixturePath } from '../../testing/strace.js';
import { realEnv } from '../env/real.js';
import { isBerthError } from '../model/errors.js';
import { asRevision, type Revision, type Write } from './contract.js';
import { everyKey } from './key-range.js';
import { LmdbStore } from './lmdb.js';
import { openLmdb } from './lmdb-environment.js';
import { metaKey } from './lmdb-layout.js';

const put = (key: string, value: string): Write => ({ kind: 'put', key, value: Buffer.from(value) });

async function write(store: LmdbStore, ...writes: Write[]): Promise<Revision> {
  const outcome = await store.transact({ guards: [], writes });
  if (outcome.kind !== 'Committed') throw new Error(`not committed: ${outcome.kind}`);
  return outcome.revision;
}

describe('the lmdb store', () => {
  let scratch: ReturnType<typeof scratchDirectory>;
  const open = (): Promise<LmdbStore> => LmdbStore.open({ dir: join(scratch.path, 'store'), env: realEnv() });
  beforeEach(() => {
    scratch = scratchDirectory('lmdb');
  });
  afterEach(() => scratch.remove());

  it('goes on where it was when it is opened again: entries, history, compaction, revision', async () => {
    const first = await open();
    const one = await write(first, put('/a', '1'), put('/b', '1'));
    const two = await write(first, put('/a', '2'));
    const three = await write(first, put('/a', '3'), { kind: 'delete', key: '/b' });
    await first.compact(two);
    await first.close();

    const second = await open();
    const now = await second.read(everyKey);
    expect(now.revision).toBe(three);
    expect(now.entries.map((entry) => [entry.key, entry.createRevision, entry.modRevision])).toEqual([
      ['/a', one, three],
    ]);
    const past = await second.read(everyKey, { revision: two });
    expect(past.entries.map((entry) => entry.key)).toEqual(['/a', '/b']);
    await expect(second.read(everyKey, { revision: one })).rejects.toSatisfy((error) =>
      isBerthError(error, 'Expired'),
    );
    expect(await write(second, put('/c', '1'))).toBe(three + 1);
    await second.close();
  });

  it('lets one process have a directory, says which one has it, and takes it over at once from a dead one', async () => {
    const dir = join(scratch.path, 'store');
    const child = spawn(process.execPath, [fixturePath(import.meta.url, 'lmdb-killed.fixture.js'), dir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    await expect(open()).rejects.toSatisfy(
      (error) =>
        isBerthError(error, 'StoreLocked') && error.message.includes(`in use by process ${child.pid}`),
    );
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
    const store = await open();
    await expect(open()).rejects.toSatisfy((error) => isBerthError(error, 'StoreLocked'));
    await store.close();
    await (await open()).close();
  });

  it('refuses a directory that another version has written', async () => {
    const store = await open();
    await store.close();
    const raw = openLmdb(join(scratch.path, 'store'), 'flush');
    raw.putSync(metaKey, Buffer.from([99]));
    await raw.close();
    await expect(open()).rejects.toSatisfy(
      (error) => isBerthError(error, 'StoreFormat') && error.message.includes('has format 99'),
    );
    await expect(open(), 'the lock is free again').rejects.toSatisfy((error) =>
      isBerthError(error, 'StoreFormat'),
    );
  });

  it('gives the room of what is compacted back: churn does not make the file grow', async () => {
    const store = await open();
    const file = join(scratch.path, 'store', 'data.mdb');
    const churn = async (rounds: number): Promise<number> => {
      for (let round = 0; round < rounds; round++) {
        const keys = Array.from({ length: 64 }, (_, index) => `/churn/${round}/${index}`);
        await write(store, ...keys.map((key) => put(key, 'x'.repeat(200))));
        const last = await write(store, ...keys.map((key): Write => ({ kind: 'delete', key })));
        await store.compact(last);
      }
      return statSync(file).size;
    };
    const before = await churn(20);
    expect(await churn(80)).toBeLessThan(before * 1.5);
    expect((await store.read(everyKey)).entries).toEqual([]);
    await store.close();
    const raw = openLmdb(join(scratch.path, 'store'), 'flush');
    expect([...raw.getKeys()], 'nothing but the meta record is left').toHaveLength(1);
    await raw.close();
  });

  it('compacts beside writers without losing or blocking them', async () => {
    const store = await open();
    let running = true;
    const writers = Array.from({ length: 8 }, async (_, index) => {
      let count = 0;
      while (running) await write(store, put(`/w/${index}`, String(++count)));
      return count;
    });
    let compactions = 0;
    for (let compacted = 0; compacted < 1_000;) {
      const { revision } = await store.read(everyKey);
      if (revision - 5 > compacted) {
        compacted = revision - 5;
        await store.compact(asRevision(compacted));
        compactions += 1;
      } else {
        await realEnv().yield();
      }
    }
    running = false;
    expect(compactions).toBeGreaterThan(10);
    const counts = await Promise.all(writers);
    const { entries } = await store.read(everyKey);
    expect(entries.map((entry) => Number(Buffer.from(entry.value).toString()))).toEqual(counts);
    for (const count of counts) expect(count).toBeGreaterThan(10);
    await store.close();
  });

  it('finishes what it accepted before it closes', async () => {
    const store = await open();
    const accepted = Array.from({ length: 200 }, (_, index) => write(store, put(`/${index}`, '')));
    await store.close();
    await expect(Promise.all(accepted)).resolves.toHaveLength(200);
    const again = await open();
    expect((await again.read(everyKey)).entries).toHaveLength(200);
    await again.close();
  });

  it('tells callers to come back when more are waiting than it will hold', async () => {
    const store = await open();
    const attempts = Array.from({ length: 20_001 }, (_, index) => write(store, put(`/${index % 10}`, '')));
    await expect(attempts.at(-1)).rejects.toSatisfy((error) => isBerthError(error, 'StoreOverloaded'));
    await Promise.all(attempts.slice(0, -1));
    await store.close();
  });
});
