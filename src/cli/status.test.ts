import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Attention } from '../model/attention.js';
import type { Trace } from '../model/trace.js';
import { startUp, type Up } from './up.fixture.js';

const cell = `
apiVersion: berth.dev/v1
kind: Workload
metadata: { name: api }
spec:
  type: Service
  replicas: 1
  template: { run: { process: { command: [./api] } }, resources: { cpu: "1" } }
---
apiVersion: berth.dev/v1
kind: Workload
metadata: { name: huge }
spec:
  type: Service
  replicas: 1
  template: { run: { process: { command: [./huge] } }, resources: { cpu: "5000" } }
`;

describe('berth status and berth trace', () => {
  let up: Up;
  beforeAll(async () => {
    up = await startUp('--hollow', '2');
  }, 120_000);
  afterAll(() => up.close());

  it('status says that nothing needs attention, then what does, worst first, and whose move it is', async () => {
    const calm = await up.run('status');
    expect([calm.status, calm.stdout]).toEqual([0, '']);
    expect(calm.stderr).toMatch(/^nothing needs attention; looked at \d nodes? and 0 workloads\n$/);
    await up.ok('apply -f -', { input: cell });
    await up.ok('wait wl/api --for jsonpath={.status.servingReplicas}=1 --timeout 60s');
    await up.ok('cordon hollow-2');
    const attention = async (): Promise<string[]> =>
      (JSON.parse(await up.ok('status -o json')) as Attention).items.map(
        ({ severity, kind, name, reason, nextMove }) => `${severity} ${kind}/${name} ${reason} ${nextMove}`,
      );
    await expect
      .poll(attention, { timeout: 60_000, interval: 500 })
      .toEqual([
        'Broken Workload/huge LimitedByScheduling scheduler',
        'Notice Node/hollow-2 Cordoned operator',
      ]);
    const { stdout } = await up.run('status');
    expect(stdout.split('\n')[1]).toMatch(
      /^Broken +workload\/huge +default +LimitedByScheduling .* scheduler /,
    );
  }, 150_000);

  it('trace tells the way of a replica from decision to serving, with actors and evidence', async () => {
    const traced = async () =>
      (JSON.parse(await up.ok('trace replica/api-0-1 -o json')) as Trace).entries.map(({ what }) => what);
    // Decisions are written down a moment later than what they decided.
    await expect.poll(traced, { timeout: 60_000, interval: 500 }).toContain('Placed');
    const { entries } = JSON.parse(await up.ok('trace replica/api-0-1 -o json')) as Trace;
    expect(entries.map(({ what }) => what)).toEqual(
      expect.arrayContaining(['Queued', 'Queued → Bound', 'Bound → Starting', 'Ready → Serving']),
    );
    const bound = entries.find(({ what }) => what === 'Queued → Bound');
    expect(bound?.actor).toMatch(/^scheduler:/);
    expect(bound?.evidence['node']).toMatch(/^hollow-/);
    const shown = await up.ok('trace api');
    expect(shown).toMatch(/AT +ABOUT +WHAT +AFTER +ACTOR +REASON +EVIDENCE/);
    expect(shown).toMatch(/Replica api-0-1 +Ready → Serving +\d+s +endpoints-controller:/);
    expect(await up.ok('trace node/hollow-1')).toContain('AT');
    expect((await up.run('trace replica/nope')).status).toBe(1);
  }, 150_000);
});
