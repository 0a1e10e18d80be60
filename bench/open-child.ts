import { realEnv } from '../src/env/real.js';
import { LmdbStore } from '../src/store/lmdb.js';
import { openLmdb } from '../src/store/lmdb-environment.js';
import { everyKey } from '../src/store/key-range.js';

// Opens a filled store in a process of its own and reports what that cost.
const [how, dir = ''] = process.argv.slice(2);
const rssMiB = (): number => process.memoryUsage().rss / 1024 ** 2;
const baseRssMiB = rssMiB();
const startedAt = performance.now();
const lap = (since: number): number => performance.now() - since;

let listed = 0;
let openMs: number;
let openRssMiB: number;
let firstReadMs: number;
let listMs: number;
if (how === 'raw') {
  const database = openLmdb(dir, 'flush');
  openMs = lap(startedAt);
  openRssMiB = rssMiB();
  const readAt = performance.now();
  database.getBinary(Buffer.from('\u0001/o/Thing/ns/00500000'));
  firstReadMs = lap(readAt);
  const listAt = performance.now();
  for (const { value } of database.getRange()) listed += value.length > 0 ? 1 : 0;
  listMs = lap(listAt);
  await database.close();
} else {
  const store = await LmdbStore.open({ dir, env: realEnv() });
  openMs = lap(startedAt);
  openRssMiB = rssMiB();
  const readAt = performance.now();
  await store.read({ from: '/o/Thing/ns/00500000', to: '/o/Thing/ns/00500001' });
  firstReadMs = lap(readAt);
  const listAt = performance.now();
  let from = everyKey.from;
  for (let more = true; more;) {
    const page = await store.read({ from, to: everyKey.to });
    listed += page.entries.length;
    from = `${page.entries.at(-1)?.key}\0`;
    more = page.more;
  }
  listMs = lap(listAt);
  await store.close();
}
process.stdout.write(JSON.stringify({ openMs, openRssMiB, baseRssMiB, firstReadMs, listMs, listed }));
