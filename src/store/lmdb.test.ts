import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { fixturePath } from '../../testing/run-process.js';
import { realEnv } from '../env/real.js';
import { isBerthError } from '../model/errors.js';
import { asRevision, type Guard, type Revision, type Write } from './contract.js';
import { everyKey } from './key-range.js';
import { LmdbStore } from './lmdb.js';
import { openLmdb } from './lmdb-environment.js';
import { LmdbFiles } from './lmdb-files.js';
import { metaKey } from './lmdb-layout.js';

const put = (key: string, value: string): Write => ({ kind: 'put', key, value: Buffer.from(value) });

const sixty = (prefix: string, kind: 'put' | 'delete'): Write[] =>
  Array.from({ length: 60 }, (_, index) =>
    kind === 'put' ? put(`${prefix}/${index}`, 'x') : { kind, key: `${prefix}/${index}` },
  );

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

  it('refuses a damaged file or record instead of crashing or starting over', async () => {
    const dir = join(scratch.path, 'store');
    const store = await open();
    await write(store, put('/a', '1'));
    await store.close();
    const raw = openLmdb(dir, 'flush');
    raw.putSync(metaKey, Buffer.from([1, 2, 3]));
    await raw.close();
    const isFormat = (error: unknown): boolean => isBerthError(error, 'StoreFormat');
    await expect(open()).rejects.toSatisfy(isFormat);
    for (const content of [Buffer.alloc(100, 'z'), Buffer.alloc(20_000), Buffer.alloc(70_000, 0x5a)]) {
      writeFileSync(join(dir, 'data.mdb'), content);
      await expect(open()).rejects.toSatisfy(isFormat);
    }
  });

  it('says what is wrong with a path that is no directory', async () => {
    writeFileSync(join(scratch.path, 'store'), 'a file');
    await expect(open()).rejects.toSatisfy(
      (error) => isBerthError(error, 'StoreUnavailable') && error.message.includes('cannot use'),
    );
  });

  it('[S11] does not skip what a compaction forgets while the main thread is busy', async () => {
    const store = await open();
    let last = asRevision(0);
    for (let count = 0; count < 50; count++) last = await write(store, put('/k', String(count)));
    const watch = store.watch(everyKey, { after: asRevision(5) });
    const compaction = store.compact(asRevision(last - 10));
    // The writer thread gets its request and finishes while nothing runs here.
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    await expect(watch.next()).rejects.toSatisfy((error) => isBerthError(error, 'Expired'));
    await compaction;
    await store.close();
  });

  it('lets writers in between the slices of a long compaction', async () => {
    const store = await open();
    const filling = Array.from({ length: 12_000 }, (_, index) =>
      write(store, put(`/k/${index % 100}`, String(index))),
    );
    const { length } = await Promise.all(filling);
    const { revision } = await store.read(everyKey);
    let isOver = false;
    const compaction = store.compact(revision).then(() => {
      isOver = true;
    });
    let during = 0;
    while (!isOver) {
      await write(store, put('/other', String(during)));
      during += 1;
    }
    await compaction;
    expect(length).toBe(12_000);
    expect(during).toBeGreaterThan(10);
    await store.close();
  });

  it('catches up over many turns and compacts in many slices', async () => {
    const store = await open();
    const { revision: start } = await store.read(everyKey);
    await Promise.all(
      Array.from({ length: 3_000 }, (_, index) => write(store, put(`/${index % 7}`, String(index)))),
    );
    const { revision } = await store.read(everyKey);
    const seen: number[] = [];
    for await (const sets of store.watch(everyKey, { after: start })) {
      seen.push(...sets.map((set) => set.revision));
      if (seen.at(-1) === revision) break;
    }
    expect(seen).toEqual(Array.from({ length: 3_000 }, (_, index) => start + 1 + index));
    await store.compact(asRevision(revision - 1));
    expect((await store.read(everyKey, { revision: asRevision(revision - 1) })).entries).toHaveLength(7);
    await store.close();
  });

  it('reads far back and past many deletions without holding up others', async () => {
    const store = await open();
    const { revision: start } = await write(store, put('/hot', 'first')).then((revision) => ({ revision }));
    await Promise.all(Array.from({ length: 8_000 }, (_, index) => write(store, put('/hot', String(index)))));
    await Promise.all(
      Array.from({ length: 200 }, (_, index) => write(store, ...sixty(`/gone/${index}`, 'put'))),
    );
    await Promise.all(
      Array.from({ length: 200 }, (_, index) => write(store, ...sixty(`/gone/${index}`, 'delete'))),
    );
    let turns = 0;
    let isReading = true;
    const others = (async (): Promise<void> => {
      while (isReading) {
        await realEnv().yield();
        turns += 1;
      }
    })();
    const [entry] = (await store.read(everyKey, { revision: start })).entries;
    expect(Buffer.from(entry?.value ?? '').toString()).toBe('first');
    expect((await store.read(everyKey, { limit: 2 })).entries.map((one) => one.key)).toEqual(['/hot']);
    isReading = false;
    await others;
    expect(turns).toBeGreaterThan(2);
    await store.close();
  });

  it('opens its files again when they were away for a while', async () => {
    const dir = join(scratch.path, 'store');
    const files = await LmdbFiles.open(dir, 'flush', realEnv());
    renameSync(dir, `${dir}-away`);
    const recovered = files.recover();
    const reading = files
      .read((reader) => reader.meta())
      .then(
        () => 'read',
        (error: unknown) => (isBerthError(error) ? error.code : String(error)),
      );
    await realEnv().sleep(400);
    renameSync(`${dir}-away`, dir);
    expect((await recovered).revision).toBe(1);
    expect(await reading).toBe('StoreUnavailable');
    expect(await files.read((reader) => reader.meta())).toEqual({ revision: 1, compacted: 0 });
    await files.close();
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

  it('knows which keys are there, asked on disk or not, through deletions, compactions and a new start', async () => {
    const model = new Map<string, Revision>();
    // Many that come seldom, in an order that looks like none, and some that come and go between two compactions.
    const keyOf = (at: number): string =>
      at % 2 === 0 ? `/k/${(Math.imul(at, 0x9e3779b1) >>> 8) % 4_000}` : `/often/${((at - 1) / 2) % 61}`;
    const busy = new Set<string>();
    const turn = async (store: LmdbStore, at: number): Promise<void> => {
      const key = keyOf(at);
      if (busy.has(key)) return;
      busy.add(key);
      const modRevision = model.get(key);
      const right: Guard =
        modRevision === undefined ? { kind: 'absent', key } : { kind: 'unchanged', key, modRevision };
      const wrong: Guard =
        modRevision === undefined
          ? { kind: 'unchanged', key, modRevision: asRevision(1) }
          : { kind: 'absent', key };
      const isDelete = modRevision !== undefined && at % 3 === 0;
      const writes: Write[] = [isDelete ? { kind: 'delete', key } : put(key, String(at))];
      const [refused, outcome] = await Promise.all([
        store.transact({ guards: [wrong], writes }),
        store.transact({ guards: [right], writes }),
      ]);
      expect([key, refused.kind, outcome.kind]).toEqual([key, 'GuardFailed', 'Committed']);
      busy.delete(key);
      if (outcome.kind !== 'Committed') return;
      if (isDelete) model.delete(key);
      else model.set(key, outcome.revision);
    };
    const isAsModelled = async (
      store: LmdbStore,
      expected: Map<string, Revision>,
      revision?: Revision,
    ): Promise<void> => {
      const { entries } = await store.read(everyKey, revision === undefined ? {} : { revision });
      const found = entries.map((entry) => [entry.key, entry.modRevision] as const);
      expect(new Map(found)).toEqual(expected);
    };
    let at = 0;
    for (let start = 0; start < 3; start++) {
      const store = await open();
      for (let round = 0; round < 4; round++) {
        const until = at + 500;
        while (at < until) await Promise.all(Array.from({ length: 50 }, () => turn(store, at++)));
        const { revision } = await store.read(everyKey, { limit: 1 });
        const then = new Map(model);
        if (round % 2 === 1) await store.compact(revision);
        while (at < until + 100) await Promise.all(Array.from({ length: 50 }, () => turn(store, at++)));
        await isAsModelled(store, then, revision);
        await isAsModelled(store, model);
      }
      await store.close();
    }
    expect(model.size).toBeGreaterThan(1_000);
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

  it('does not open its files again for a turn that it has waited for longer than it was open', async () => {
    const late: (() => void)[] = [];
    const env = { ...realEnv(), yield: () => new Promise<void>((resolve) => late.push(resolve)) };
    const dir = join(scratch.path, 'store');
    const store = await LmdbStore.open({ dir, env });
    // As many keys as it judges at a time: it wants another turn, and then there is nothing left to judge.
    const sent = Array.from({ length: 168 }, (_, index) => write(store, ...sixty(`/${index}`, 'put')));
    await Promise.all(sent);
    await store.close();
    expect(late.length).toBeGreaterThan(0);
    for (const resolve of late) resolve();
    await realEnv().sleep(50);
    expect(readFileSync('/proc/self/maps', 'utf8')).not.toContain(dir);
  });

  it('tells callers to come back when more are waiting than it will hold', async () => {
    const store = await open();
    const attempts = Array.from({ length: 20_001 }, (_, index) => write(store, put(`/${index % 10}`, '')));
    await expect(attempts.at(-1)).rejects.toSatisfy((error) => isBerthError(error, 'StoreOverloaded'));
    await Promise.all(attempts.slice(0, -1));
    await store.close();
  });
});
