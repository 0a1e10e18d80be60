import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EtcdCluster, startEtcd } from '../../testing/etcd-server.js';
import { msBetween } from '../env/instant.js';
import { realEnv } from '../env/real.js';
import type { Replica } from '../model/kinds/replica.js';
import type { Authority } from '../model/ports.js';
import type { NodeAccount, TenantAccount } from '../model/records.js';
import { EtcdStore } from '../store/etcd.js';
import { audit } from './audit.fixture.js';
import { openAuthority } from './open-authority.fixture.js';
import { done, openTestCell, refOf } from './test-cell.fixture.js';

describe('[S1] [S2] [S3] two servers that both believe they hold the authority', () => {
  let etcd: EtcdCluster;
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());

  it('overrun neither a node nor a tenant nor claim a device twice, and both get on', async () => {
    const env = realEnv();
    const openStore = () => new EtcdStore({ endpoints: etcd.urls, env });
    const store = openStore();
    const authority = { mayChain: false };
    const cell = await openTestCell({ store, isAudited: false, authority });
    const otherStore = openStore();
    const other = await openAuthority(otherStore, env, authority);
    await cell.tenant('shop', { limit: { cpu: '6', replicas: 20 } });
    const gpus = Array.from({ length: 6 }, (_, index) => `GPU-${index}`);
    await cell.node('n1', { devices: { gpu: gpus } });
    const web = await cell.workload('shop', 'web', { cpu: '1', devices: { gpu: 1 } });
    const { random } = env;
    const since = env.clock.monotonic();
    const isOver = (): boolean => msBetween(since, env.clock.monotonic()) > 3_000;
    const committed = { ours: 0, theirs: 0 };
    const reasons = new Map<string, number>();
    // Slots belong to one worker each; node, tenant, workload and devices to all of them.
    const work = async (whose: 'ours' | 'theirs', through: Authority, worker: number): Promise<void> => {
      for (let incarnation = 1; !isOver(); incarnation++) {
        const outcome = await through.incarnate({
          actor: cell.actors['workload-controller'],
          tenant: 'shop',
          workload: 'web',
          workloadUid: web.metadata.uid,
          slot: `${whose}${worker}`,
          incarnation,
          revision: 'web-r1',
          stage: 'Queued',
          reason: 'Wanted',
          operation: `${whose}/${worker}/${incarnation}`,
        });
        if (outcome.kind !== 'Committed') throw new Error(JSON.stringify(outcome));
        await place(whose, through, outcome.result.replica);
      }
    };
    const place = async (whose: 'ours' | 'theirs', through: Authority, replica: Replica): Promise<void> => {
      for (let attempt = 0; ; attempt++) {
        const devices = { gpu: [random.pick(gpus)] };
        const operation = `bind/${replica.metadata.uid}/${attempt}`;
        const [bound] = await through.bind([cell.proposal(replica, 'n1', { devices, operation })]);
        if (bound?.kind === 'Committed') {
          committed[whose] += 1;
          const { fence } = bound.result;
          const ended = { node: 'n1', nodeEpoch: { cell: 1, number: 1 }, replica: refOf(replica), fence };
          done(
            await retried(() =>
              through.report({ ...ended, stage: 'Succeeded', reason: 'Test', operation: `end/${operation}` }),
            ),
          );
          return;
        }
        if (bound?.kind !== 'Rejected') throw new Error(JSON.stringify(bound));
        reasons.set(bound.reason, (reasons.get(bound.reason) ?? 0) + 1);
        if (isOver()) {
          done(
            await retried(() =>
              through.release({
                actor: cell.actors['workload-controller'],
                replica: refOf(replica),
                proof: { kind: 'NeverBound' },
                reason: 'Test',
                operation: `drop/${replica.metadata.uid}`,
              }),
            ),
          );
          return;
        }
      }
    };
    const retried = async <T extends { readonly kind: string; readonly reason?: string }>(
      once: () => Promise<T>,
    ): Promise<T> => {
      for (;;) {
        const outcome = await once();
        if (outcome.reason !== 'Contended') return outcome;
      }
    };
    const watchdog = (async () => {
      const seen = { cpuMost: 0, tenantMost: 0 };
      while (!isOver()) {
        const { entries } = await store.read({ from: '/a/', to: '/b' });
        for (const { key, value } of entries) {
          const account = JSON.parse(Buffer.from(value).toString()) as NodeAccount & TenantAccount;
          if (key === '/a/node/n1') seen.cpuMost = Math.max(seen.cpuMost, account.used.cpuMilli ?? 0);
          if (key === '/a/tenant/shop')
            seen.tenantMost = Math.max(seen.tenantMost, account.used.cpuMilli ?? 0);
        }
        expect(await audit(store)).toEqual([]);
      }
      return seen;
    })();
    try {
      await Promise.all(
        Array.from({ length: 5 }, (_, worker) => [
          work('ours', cell.authority, worker),
          work('theirs', other.authority, worker),
        ]).flat(),
      );
      const seen = await watchdog;
      expect(seen.cpuMost).toBeLessThanOrEqual(6_000);
      expect(seen.tenantMost).toBeLessThanOrEqual(6_000);
      expect(seen.cpuMost).toBeGreaterThan(1_000);
      expect(committed.ours).toBeGreaterThan(0);
      expect(committed.theirs).toBeGreaterThan(0);
      expect([...reasons.keys()].toSorted().join()).toMatch(/DeviceTaken/);
      expect(await audit(store)).toEqual([]);
      expect(await cell.record('/a/node/n1')).toMatchObject({
        used: { cpuMilli: 0 },
        claims: { devices: {} },
        revisions: {},
      });
    } finally {
      await cell.cache.close();
      await other.cache.close();
      await store.close();
      await otherStore.close();
    }
  });
});
