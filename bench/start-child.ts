import { realEnv } from '../src/env/real.js';
import { Versions } from '../src/model/versions.js';
import { Codec } from '../src/objects/codec.js';
import { ObjectCache } from '../src/objects/object-cache.js';
import { LmdbStore } from '../src/store/lmdb.js';

// Starts a cache over a filled store in a process of its own and reports what that cost.
const env = realEnv();
const store = await LmdbStore.open({ dir: process.argv[2] ?? '', env });
const cache = new ObjectCache({ store, env, codec: new Codec(), versions: new Versions(0) });
const startedAt = performance.now();
const before = process.cpuUsage();
await cache.start();
const { user, system } = process.cpuUsage(before);
process.stdout.write(
  JSON.stringify({
    ms: performance.now() - startedAt,
    cpuMs: (user + system) / 1_000,
    objects: cache.count('Replica'),
  }),
);
await cache.close();
await store.close();
