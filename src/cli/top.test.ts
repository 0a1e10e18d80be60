import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../testing/source-tree.js';
import type { UsagePage } from '../model/usage.js';
import { startUp, type Up } from './up.fixture.js';

const soon = { timeout: 60_000, interval: 500 };

describe('berth top', { timeout: 180_000 }, () => {
  let up: Up;
  beforeAll(async () => {
    up = await startUp();
    await up.ok(`apply -f ${join(projectRoot, 'examples/hello.yaml')}`);
  }, 120_000);
  afterAll(() => up.close());

  const top = async (words = ''): Promise<UsagePage> =>
    JSON.parse(await up.ok(`top${words} -o json`)) as UsagePage;

  it('shows what each replica uses, as its node tells when it renews', async () => {
    expect(await up.run('top -n nobody')).toMatchObject({ status: 0, stdout: '' });
    const isKnown = async (): Promise<boolean[]> =>
      (await top()).items.map(({ memoryBytes = 0, cpuCores = -1 }) => memoryBytes > 0 && cpuCores >= 0);
    await expect.poll(isKnown, soon).toEqual([true, true]);
    const [heads = '', ...rows] = (await up.ok('top -A')).trim().split('\n');
    expect(heads.split(/ {2,}/)).toEqual([
      ...['NAMESPACE', 'REPLICA', 'NODE', 'CPU', 'MEMORY', 'RESTARTS', 'OOM KILLS', 'TOLD'],
    ]);
    expect(rows.map((row) => row.split(/ {2,}/).slice(0, 2).join('/'))).toEqual([
      ...['default/hello-0-1', 'default/hello-1-1'],
    ]);
    for (const row of rows) expect(row).toMatch(/ \d+m +[1-9]\d*Mi +0 +0 +\d+s ago$/);
    expect((await top(' hello-1-1')).items.map(({ name }) => name)).toEqual(['hello-1-1']);
    expect((await top(' workload/hello')).items).toHaveLength(2);
  });
});
