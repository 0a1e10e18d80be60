import { join } from 'node:path';
import { realEnv } from '../src/env/real.js';
import { LmdbStore } from '../src/store/lmdb.js';
import { type PathOptions, wholePath } from './whole-path.js';

/** What the process of a path is started with. */
export interface PathChildOptions extends PathOptions {
  /** How many replicas are placed before, in another cell. */
  readonly warmUp: number;
}

// One whole path on lmdb, in a process of its own, as that of a server is: what a cell of the same size leaves in a heap
// makes the next one slower and larger.
const { warmUp, ...options } = JSON.parse(process.argv[2] ?? '') as PathChildOptions;
const run = (one: PathOptions) =>
  wholePath(() => LmdbStore.open({ dir: join(one.dir, 'store'), env: realEnv() }), one);
await run({ ...options, dir: `${options.dir}-warm-up`, replicas: warmUp });
globalThis.gc?.();
// It stays until it was heard.
process.once('disconnect', () => process.exit());
process.send?.(await run(options));
