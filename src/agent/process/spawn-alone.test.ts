import { once } from 'node:events';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { scratchDirectory } from '../../../testing/scratch.js';
import { realEnv } from '../../env/real.js';
import { run } from '../../../testing/run-process.js';
import { LmdbStore } from '../../store/lmdb.js';
import { spawnAlone } from './spawn-alone.js';

let scratch: ReturnType<typeof scratchDirectory>;
let store: LmdbStore;
beforeEach(async () => {
  scratch = scratchDirectory('spawn-alone');
  store = await LmdbStore.open({ dir: scratch.path, env: realEnv() });
});
afterEach(async () => {
  await store.close();
  scratch.remove();
});

const listed = 'ls -l /proc/self/fd; echo said >&2; exit 3';

it('a program that is started alone has no file of this process open, as one that is started otherwise has', async () => {
  expect((await run('sh', ['-c', listed])).stdout).toContain(`${scratch.path}/data.mdb`);
  const child = spawnAlone('sh', ['-c', listed], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  expect(await once(child, 'close')).toEqual([3, null]);
  expect(stdout).toContain('/dev/null');
  expect(stdout).not.toContain(scratch.path);
  expect(stderr).toBe('said\n');
});
