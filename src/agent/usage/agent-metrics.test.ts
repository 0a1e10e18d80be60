import { describe, expect, it } from 'vitest';
import { bootInstant } from '../../env/instant.js';
import { AgentMetrics } from './agent-metrics.js';
import type { ReplicaUsage } from './replica-usage.js';

describe('AgentMetrics', () => {
  it('tells of each replica what it uses now, and nothing of those that have gone', async () => {
    const api = { tenant: 't', workload: 'api', replica: 'api-0-1' };
    const batch = { tenant: 't', workload: 'batch', replica: 'batch-0-1' };
    let usage: ReplicaUsage[] = [
      {
        ...{ ...api, restarts: 2, oomKills: 1 },
        running: { cpuSeconds: 1.5, memoryBytes: 4096, oomKills: 0, measuredAt: bootInstant(0) },
      },
      { ...batch, restarts: 0, oomKills: 0, running: undefined },
    ];
    const metrics = new AgentMetrics(() => usage);
    const samples = async (): Promise<string[]> =>
      (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const of = (replica: string): string =>
      `{tenant="t",workload="${replica.split('-')[0]}",replica="${replica}"}`;
    expect(await samples()).toEqual([
      `berth_replica_cpu_seconds${of('api-0-1')} 1.5`,
      `berth_replica_memory_bytes${of('api-0-1')} 4096`,
      `berth_replica_restarts${of('api-0-1')} 2`,
      `berth_replica_restarts${of('batch-0-1')} 0`,
      `berth_replica_oom_kills${of('api-0-1')} 1`,
      `berth_replica_oom_kills${of('batch-0-1')} 0`,
      'berth_agent_replicas 2',
    ]);
    usage = [];
    expect(await samples()).toEqual(['berth_agent_replicas 0']);
  });
});
