import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fenceContract } from '../model/fence-contract.js';
import { fenceKey } from '../model/records.js';
import { LmdbStore } from '../store/lmdb.js';
import { env } from './process-runner.fixture.js';

/**
 * A fence that is short enough to wait for and has room for a machine that is busy with other tests. κ and σ together are
 * the time that a supervisor has to end a job.
 */
const fence = {
  ...fenceContract,
  ...{ permitSeconds: 5, graceSeconds: 2, killMarginSeconds: 1, stallSecondsMax: 4, windowSeconds: 9.2 },
};

/** As a cell that was set to this long ago: a window is only lowered after the one before has passed. */
export async function keepShortFence(serverDir: string): Promise<void> {
  const dir = join(serverDir, 'store');
  mkdirSync(dir, { recursive: true });
  const store = await LmdbStore.open({ dir, env });
  const value = Buffer.from(JSON.stringify({ ...fence, operation: 'test' }));
  await store.transact({ guards: [], writes: [{ kind: 'put', key: fenceKey, value }] });
  await store.close();
}
