import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Played, shortLease, within, WorkedCell } from './worked.fixture.js';

const gpuNode = (name: string, gpus: number, profile: string): string =>
  '  profiles: { steady: { runSeconds: [3000, 3000] }, pulling: { startSeconds: [3000, 3000] } }\n' +
  `  pools: [{ name: p, names: [${name}], capacity: { cpu: "8", memory: 8Gi }, devices: { gpu: ${gpus} }, profile: ${profile}, ${shortLease} }]\n`;
const job = {
  ...{ type: 'Batch', replicas: 1 },
  template: {
    run: { process: { command: ['score'] } },
    resources: { cpu: '1', devices: { gpu: 1 } },
    execution: 'AtMostOne',
  },
  placement: { freshness: { maxNodeAgeSeconds: 10, onStale: 'Wait' } },
};
const limit = (gpu: number) => ({ limit: { devices: { gpu } } });

describe('001-conservative-binding: fraud-batch waits for evidence, and is never bound on hope', () => {
  let cell: WorkedCell;
  let gpu7: Played;
  beforeAll(async () => {
    cell = await WorkedCell.start('worked-conservative', { hasShortFence: true });
    gpu7 = await cell.play('gpu7', gpuNode('node-gpu-7', 2, 'steady'));
    await cell.untilFresh(['node-gpu-7']);
  });
  afterAll(() => cell.close());
  const stages = (name = 'fraud-batch') => cell.stages(name, 'fraud');
  const replicas = (name = 'fraud-batch') => cell.replicas(name, 'fraud');

  it('[S3] waits at its quota; raised while the node is late, it waits for the node, and is bound when it is heard of', async () => {
    await cell.put('tenants', 'fraud', limit(0));
    await cell.put('workloads', 'fraud-batch', job, 'fraud');
    const waits = async (): Promise<string> => {
      const { limitedBy, reason } = (await cell.workload('fraud-batch', 'fraud')).status?.progress ?? {};
      return `${limitedBy}: ${reason}`;
    };
    await expect.poll(waits, within).toBe('Quota: QuotaExceeded');
    gpu7.silence();
    await expect
      .poll(async () => (await cell.node('node-gpu-7')).status?.reachability, within)
      .not.toBe('Fresh');
    await cell.put('tenants', 'fraud', limit(1));
    await expect.poll(waits, within).toMatch(/^Scheduling: (GateClosed|NodeStale)$/);
    const { placement, answer } = await cell.why('fraud-batch -n fraud');
    expect(answer).toContain('cannot be placed');
    expect(placement?.rejections.map(({ reason }) => reason).toSorted()).toEqual(['GateClosed', 'NodeStale']);
    gpu7.wake();
    await expect.poll(() => stages(), within).toEqual(['Ready']);
  }, 240_000);

  it('[S3] a second job that its node would take waits for the quota of its tenant', async () => {
    await cell.put('workloads', 'second', job, 'fraud');
    await expect
      .poll(async () => (await cell.workload('second', 'fraud')).status?.progress?.reason, within)
      .toBe('QuotaExceeded');
    expect(await stages('second')).toEqual(['Queued']);
    await cell.ok('delete workload/second -n fraud');
    await cell.auditOrThrow();
  }, 120_000);

  it('[S5] silent after the bind: timed out, released by the fence, queued again, executed once', async () => {
    const gpu8 = await cell.play('gpu8', gpuNode('node-gpu-8', 1, 'pulling'));
    await cell.put('tenants', 'fraud', limit(2));
    await cell.untilFresh(['node-gpu-8']);
    await cell.ok('cordon node-gpu-7');
    await cell.put('workloads', 'silent', job, 'fraud');
    await expect.poll(() => stages('silent'), within).toEqual(['Starting']);
    gpu8.silence();
    await cell.ok('uncordon node-gpu-7');
    await expect.poll(() => stages('silent'), within).toEqual(['Ready']);
    gpu8.wake();
    await cell.untilFresh(['node-gpu-8']);
    const [first, second, ...more] = await replicas('silent');
    expect(more).toEqual([]);
    expect(first?.status?.transitions?.map(({ to, reason }) => `${to} ${reason}`).slice(-2)).toEqual([
      'Unknown LeaseExpired',
      'Released FenceExpired',
    ]);
    // What was started on the first node never came to run there.
    expect([first?.status?.executions ?? 0, second?.status?.executions]).toEqual([0, 1]);
    expect(second?.status?.binding?.node).toBe('node-gpu-7');
    await cell.auditOrThrow();
  }, 240_000);
});
