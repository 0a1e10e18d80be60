import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startUp, type Up } from './up.fixture.js';

const cell = `
apiVersion: berth.dev/v1
kind: Workload
metadata: { name: api }
spec:
  type: Service
  replicas: 4
  disruption: { maxUnavailable: 1 }
  template: { run: { process: { command: [./api] } }, resources: { cpu: "1", ports: [http] } }
  placement: { antiAffinity: [{ topology: Node, mode: Preferred }] }
---
apiVersion: berth.dev/v1
kind: Workload
metadata: { name: fixed }
spec:
  type: Service
  replicas: 1
  disruption: { maxUnavailable: 0 }
  template: { run: { process: { command: [./fixed] } }, resources: { cpu: "1" } }
  placement: { nodeSelector: { berth.dev/test: fixed } }
---
apiVersion: berth.dev/v1
kind: Workload
metadata: { name: everywhere }
spec:
  type: Daemon
  template: { run: { process: { command: [./agent] } }, resources: { cpu: 100m } }
`;

describe('berth drain, cordon and uncordon', () => {
  let up: Up;
  beforeAll(async () => {
    up = await startUp('--hollow', '3');
    await up.ok('apply -f -', { input: cell });
    await up.ok('wait wl/api --for jsonpath={.status.servingReplicas}=4 --timeout 60s');
    await up.ok('wait wl/everywhere --for jsonpath={.status.servingReplicas}=3 --timeout 60s');
  }, 120_000);
  afterAll(() => up.close());

  it('a service serves, and its endpoints say where', async () => {
    const { addresses } = JSON.parse(await up.ok('get ep/api -o json')).status as {
      addresses: { replica: string; node: string; ports: object }[];
    };
    expect(addresses.map(({ replica }) => replica)).toEqual(['api-0-1', 'api-1-1', 'api-2-1', 'api-3-1']);
    expect(addresses.every(({ node, ports }) => node.startsWith('hollow-') && 'http' in ports)).toBe(true);
  }, 60_000);

  it('a node that is cordoned takes nothing new and keeps what it has', async () => {
    expect(await up.ok('cordon node/hollow-3')).toBe('node/hollow-3 cordoned\n');
    expect(await up.ok('get node hollow-3')).toMatch(/hollow-3 +Fresh +No /);
    expect(await up.ok('uncordon hollow-3')).toBe('node/hollow-3 uncordoned\n');
    expect(await up.ok('get node hollow-3')).toMatch(/hollow-3 +Fresh +Yes /);
  }, 60_000);

  it('[L5] a drain moves everything within the limits, shows each replica, and ends when all have stopped', async () => {
    const { status, stdout, stderr } = await up.run('drain hollow-1 --reason upgrade --watch --timeout 100s');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/default\/everywhere\.hollow-1-1 Re(leasing|leased)/);
    expect(stdout).toMatch(/node\/hollow-1 is drained: 0 planned, 0 stopping, \d released/);
    expect(await up.ok('get node hollow-1')).toMatch(/hollow-1 +Fresh +Drained /);
    const left = await up.ok('get replicas --field-selector status.binding.node=hollow-1 -o json');
    const stages = (JSON.parse(left).items as { status: { stage: string } }[]).map(
      ({ status: is }) => is.stage,
    );
    expect(new Set(stages)).toEqual(new Set(['Released']));
    await up.ok('wait wl/api --for jsonpath={.status.servingReplicas}=4 --timeout 60s');
    expect(await up.ok('uncordon hollow-1')).toBe('node/hollow-1 uncordoned\n');
    await up.ok('wait wl/everywhere --for jsonpath={.status.servingReplicas}=3 --timeout 60s');
  }, 150_000);

  it('a drain that its deadline finds waiting is stuck, with the limit that blocks it and whose move it is', async () => {
    await up.ok('apply -f -', {
      input:
        'apiVersion: berth.dev/v1\nkind: Node\nmetadata: { name: hollow-2, labels: { berth.dev/test: fixed } }\n',
    });
    await up.ok('wait wl/fixed --for jsonpath={.status.servingReplicas}=1 --timeout 60s');
    const { status, stdout } = await up.run('drain hollow-2 --deadline 3s --watch --timeout 100s');
    expect(status).toBe(3);
    expect(stdout).toMatch(
      /default\/fixed-0-1 Blocked: .*at most 0 may be away at once \(next move: user:default\)/,
    );
    expect(stdout).toMatch(/node\/hollow-2 drains, and is stuck: .*of default\/fixed: /);
    await up.ok('apply -f -', { input: cell.replace('maxUnavailable: 0', 'maxUnavailable: 1') });
    await up.ok('wait node/hollow-2 --for jsonpath={.status.drain.state}=Complete --timeout 60s');
    expect((await up.run('drain hollow-9')).stderr).toContain('hollow-9');
  }, 150_000);
});
