import { describe, expect, it } from 'vitest';
import { answer, done, openTestCell } from './test-cell.fixture.js';

describe('the name of a replica', () => {
  it('[S7] is not that of another slot, however the names of workloads and nodes end', async () => {
    const cell = await openTestCell();
    await cell.tenant('shop');
    await cell.node('node-1');
    const log = await cell.workload('shop', 'log', { cpu: '2' }, { type: 'Daemon', replicas: undefined });
    const daemon = await cell.incarnate(log, 'node-1');
    done(await cell.bind(daemon, 'node-1'));
    const service = await cell.workload('shop', 'log-node', { cpu: '1' }, { replicas: 2 });
    const second = await cell.incarnate(service, '1');
    done(await cell.bind(second, 'node-1'));
    expect([daemon.metadata.name, second.metadata.name]).toEqual(['log.node-1-1', 'log-node-1-1']);
  });

  it('[S12] is refused where anything stands under it', async () => {
    const cell = await openTestCell({ isAudited: false });
    await cell.tenant('shop');
    const web = await cell.workload('shop', 'web', { cpu: '1' });
    const before = await cell.create('Replica', 'shop', 'web-0-1', {
      ...{ workload: 'old', slot: '7', incarnation: 1, revision: 'old-r1' },
    });
    expect(answer(await cell.tryIncarnate(web))).toBe(
      `SlotTaken: the name web-0-1 is taken by slot 7 of old (${before.metadata.uid})`,
    );
  });
});
