import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import type { Replica } from '../model/kinds/replica.js';
import { until } from './process-runner.fixture.js';
import { startServerIn } from './running.fixture.js';
import { ShippedAgent } from './shipped-agent.fixture.js';
import { keepShortFence } from './short-fence.fixture.js';

/** Which replica runs, every 10 ms. */
const job = 'while :; do echo "$BERTH_REPLICA" >>"$FILE"; sleep 0.01; done';

it('[S5] another machine takes the name of one that is cut off: what ran there has ended before it runs again', async () => {
  const scratch = scratchDirectory('takeover');
  const witness = join(scratch.path, 'witness');
  const serverDir = join(scratch.path, 'server');
  await keepShortFence(serverDir);
  const server = await startServerIn(serverDir, {});
  const joined = async (machine: string): Promise<ShippedAgent> => {
    const home = join(scratch.path, machine);
    mkdirSync(home);
    const agent = await ShippedAgent.joining(server, { home, node: 'n1', url: server.url }, {});
    await agent.start();
    return agent;
  };
  const ran = (): string[] => {
    try {
      return readFileSync(witness, 'utf8').split('\n').slice(0, -1);
    } catch {
      return [];
    }
  };
  const before = await joined('before');
  const process = { command: ['/bin/sh', '-c', job] };
  const run = { process, env: [{ name: 'FILE', value: witness }] };
  const template = { run, resources: { cpu: '100m' }, execution: 'AtMostOne', terminationGraceSeconds: 1 };
  const body = JSON.stringify({
    ...{ apiVersion: 'berth.dev/v1', kind: 'Workload', metadata: { name: 'once', namespace: 'default' } },
    spec: { type: 'Service', template, onNodeLost: { action: 'Fence' } },
  });
  await server.send('POST', '/apis/berth.dev/v1/namespaces/default/workloads', { body });
  await until('it runs', () => (ran().length > 0 ? true : undefined), 60_000);
  before.signal('SIGSTOP');
  const after = await joined('after');
  try {
    await until('it runs again', () => (ran().includes('once-0-2') ? true : undefined), 120_000);
    const all = ran();
    expect(all.lastIndexOf('once-0-1')).toBeLessThan(all.indexOf('once-0-2'));
    const transitions = server.objects.get<Replica>('Replica', 'default', 'once-0-1')?.status?.transitions;
    expect(transitions?.slice(-2).map(({ to, reason }) => `${to} ${reason}`)).toEqual([
      'Unknown JournalLost',
      'Released JournalExpired',
    ]);
  } finally {
    await before.close();
    await after.close();
    await server.dispose();
    scratch.remove();
  }
}, 240_000);
