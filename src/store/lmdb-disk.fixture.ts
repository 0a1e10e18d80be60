import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { say } from '../../testing/run-process.js';
import { realEnv } from '../env/real.js';
import { isBerthError } from '../model/errors.js';
import { asRevision } from './contract.js';
import { everyKey } from './key-range.js';
import { LmdbStore } from './lmdb.js';

// Writes to a disk that fails or is full. Reports as lines of JSON: first what each write was told, at once, then
// what was found afterwards.
const [mode = '', dir = ''] = process.argv.slice(2);
const env = realEnv();
const report: Record<string, unknown> = {};

const write = async (store: LmdbStore, key: string, bytes = 10): Promise<string> => {
  const told = await store
    .transact({ guards: [], writes: [{ kind: 'put', key, value: Buffer.alloc(bytes, 'x') }] })
    .then(
      (outcome) => outcome.kind,
      (error: unknown) => (isBerthError(error) ? error.code : String(error)),
    );
  say(JSON.stringify([key, told]));
  return told;
};
const keysOf = async (store: LmdbStore): Promise<string[]> =>
  (await store.read(everyKey)).entries.map((entry) => entry.key);

/** Writes new keys until one is committed. */
const writeUntilHealthy = async (store: LmdbStore): Promise<void> => {
  for (let attempt = 0; attempt < 500; attempt++) {
    if ((await write(store, `/healthy-${attempt}`)) === 'Committed') return;
    await env.sleep(10);
  }
  throw new Error('the store did not become healthy');
};

async function failingSync(): Promise<void> {
  const store = await LmdbStore.open({ dir, env });
  const changes: string[] = [];
  const watched = (async (): Promise<void> => {
    for await (const sets of store.watch(everyKey, { after: asRevision(1) })) {
      for (const set of sets)
        for (const change of set.changes) changes.push(change.kind === 'put' ? change.entry.key : '');
    }
  })().catch(() => undefined);
  await write(store, '/first');
  // Of one turn: the first goes to the writer thread, the second is judged while the first is in flight.
  const inFlight = write(store, '/second');
  await Promise.resolve();
  const behind = write(store, '/third');
  await Promise.all([inFlight, behind]);
  await write(store, '/refused');
  report['readable'] = await keysOf(store);
  await writeUntilHealthy(store);
  report['after'] = await keysOf(store);
  await store.close();
  await watched;
  report['watched'] = changes;
  const again = await LmdbStore.open({ dir, env });
  report['reopened'] = await keysOf(again);
  await again.close();
}

async function fullDisk(): Promise<void> {
  const ballast = join(dir, 'ballast');
  writeFileSync(ballast, Buffer.alloc(4 * 1024 * 1024));
  const storeDir = join(dir, 'store');
  const store = await LmdbStore.open({ dir: storeDir, env });
  const committed: string[] = [];
  let told = '';
  for (let number = 0; told !== 'StoreFull' && number < 1000; number++) {
    const key = `/${String(number).padStart(4, '0')}`;
    told = await write(store, key, 100_000);
    if (told === 'Committed') committed.push(key);
  }
  await Promise.all([write(store, '/x1', 100_000), write(store, '/x2', 100_000)]);
  report['readable'] = JSON.stringify(await keysOf(store)) === JSON.stringify(committed);
  report['committed'] = committed.length;
  rmSync(ballast);
  await write(store, '/afterwards', 100_000);
  await store.close();
  const again = await LmdbStore.open({ dir: storeDir, env });
  report['reopened'] = JSON.stringify(await keysOf(again)) === JSON.stringify([...committed, '/afterwards']);
  await again.close();
}

/** Looks, all the while, at what can be read and watched of a write that the disk takes its time for. */
async function slowDisk(): Promise<void> {
  const store = await LmdbStore.open({ dir, env });
  const stop = new AbortController();
  const watched: string[] = [];
  const watching = (async (): Promise<void> => {
    for await (const sets of store.watch(everyKey, { after: asRevision(1), signal: stop.signal })) {
      for (const set of sets)
        watched.push(...set.changes.map((change) => (change.kind === 'put' ? change.entry.key : '')));
    }
  })();
  let isAcknowledged = false;
  let looks = 0;
  let early = 0;
  const writing = write(store, '/slow').then(() => {
    isAcknowledged = true;
  });
  while (!isAcknowledged) {
    const found = await keysOf(store);
    looks += 1;
    if (!isAcknowledged && (found.length > 0 || watched.length > 0)) early += 1;
    await env.sleep(5);
  }
  await writing;
  report['looks'] = looks;
  report['early'] = early;
  report['after'] = await keysOf(store);
  await env.sleep(10);
  stop.abort();
  await watching;
  report['watched'] = watched;
  await store.close();
}

await (mode === 'full' ? fullDisk() : mode === 'slow' ? slowDisk() : failingSync());
say(JSON.stringify(report));
