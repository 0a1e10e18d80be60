import { join } from 'node:path';
import { realEnv } from '../src/env/real.js';
import { LmdbStore } from '../src/store/lmdb.js';
import type { Stretches } from './loop-probe.js';
import { send, startUp, stretchesOf } from './up-process.js';

const pageSize = 500;
const writesPerTransaction = 100;
const rounds = 3;

/** Puts copies of the object `w-0` into the store of a server that is not running, until there are `total`. */
export async function fillStore(dir: string, from: number, total: number): Promise<void> {
  const store = await LmdbStore.open({ dir: join(dir, 'store'), env: realEnv() });
  const prefix = '/o/PriorityClass/_/';
  const { entries } = await store.read({ from: `${prefix}w-0`, to: `${prefix}w-0\0` });
  const text = Buffer.from(entries[0]?.value ?? []).toString();
  for (let next = from; next < total;) {
    const writes = [];
    for (; writes.length < writesPerTransaction && next < total; next++) {
      const value = Buffer.from(text.replace('"name":"w-0"', `"name":"w-${next}"`));
      writes.push({ kind: 'put' as const, key: `${prefix}w-${next}`, value });
    }
    const outcome = await store.transact({ guards: [], writes });
    if (outcome.kind !== 'Committed') throw new Error(`filling the store: ${outcome.kind}`);
  }
  await store.close();
}

/** Lists everything in pages, as kubectl does, while the server watches its own event loop; the worst of some rounds. */
export async function listInPages(dir: string, path: string, expected: number): Promise<Stretches> {
  const server = await startUp(dir, 'probed');
  const found: Stretches[] = [];
  // The first round is for the compiler.
  for (let round = 0; round <= rounds; round++) {
    server.process.send('start');
    let pages = 0;
    for (let token = ''; ;) {
      const { status, head } = await send(server, 'GET', `${path}?limit=${pageSize}&continue=${token}`);
      if (status !== 200) throw new Error(`page ${pages} answered ${status}: ${head}`);
      pages += 1;
      token = encodeURIComponent(/"continue":"([^"]+)"/.exec(head)?.[1] ?? '');
      if (token === '') break;
    }
    if (pages !== Math.ceil(expected / pageSize)) throw new Error(`${pages} pages`);
    if (round > 0) found.push(await stretchesOf(server));
  }
  await server.stop();
  return found.toSorted((a, b) => b.longestOwnMs - a.longestOwnMs)[0] as Stretches;
}
