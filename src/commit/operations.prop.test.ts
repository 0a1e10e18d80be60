import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countOf, eachResource } from '../model/amount.js';
import type { Replica } from '../model/kinds/replica.js';
import type { Reservation } from '../model/kinds/reservation.js';
import type { Actor, Outcome } from '../model/ports.js';
import type { NodeAccount, TenantAccount } from '../model/records.js';
import { type Stage, stages } from '../model/stages.js';
import { audit, everything } from './audit.fixture.js';
import { openTestCell, refOf, type TestCell } from './test-cell.fixture.js';

const nodes = ['n1', 'n2', 'n3'];
const tenants = ['bank', 'shop'];
const workloads = ['any', 'big', 'once'];
const slots = ['0', '1', '2'];
const devices = { gpu: ['GPU-1', 'GPU-2'] };

/** One step: which operation, and numbers to choose its subjects by. */
type Step = readonly [operation: number, a: number, b: number, c: number];
const step = fc.tuple(fc.nat(999), fc.nat(999), fc.nat(999), fc.nat(999));

const pick = <T>(list: readonly T[], number: number): T | undefined => list[number % list.length];

async function openWorld(): Promise<TestCell> {
  const cell = await openTestCell({ isAudited: false });
  await cell.tenant('bank', {
    guaranteed: { cpu: '4', devices: { gpu: 1 } },
    limit: { cpu: '9', replicas: 6 },
  });
  await cell.tenant('shop', {});
  for (const node of nodes) await cell.node(node, { devices, zone: node === 'n3' ? 'b' : 'a' });
  for (const tenant of tenants) {
    await cell.workload(tenant, 'any', { cpu: '2', ports: ['http'] }, { onNodeLost: { action: 'Replace' } });
    await cell.workload(
      tenant,
      'big',
      { cpu: '5', memory: '3Gi', devices: { gpu: 1 } },
      { priorityClassName: 'high' },
    );
    await cell.workload(
      tenant,
      'once',
      { cpu: '1', memory: '8Gi', devices: { gpu: 2 } },
      {
        template: { execution: 'AtMostOne' },
        placement: { spread: [{ topology: 'Zone', maxSkew: 2 }] },
      },
    );
  }
  return cell;
}

type Values = ReadonlyMap<string, unknown>;

const replicasOf = (values: Values): Replica[] =>
  [...values]
    .filter(([key]) => key.startsWith('/o/Replica/'))
    .map(([key, value]) => ({ ...(value as Replica), ...(values.get(key.replace('/o/', '/s/')) as object) }));

const holdsOf = (values: Values): Reservation[] =>
  [...values]
    .filter(([key]) => key.startsWith('/o/Reservation/'))
    .map(([key, value]) => ({
      ...(value as Reservation),
      ...(values.get(key.replace('/o/', '/s/')) as object),
    }));

async function take(
  cell: TestCell,
  values: Values,
  [which, a, b, c]: Step,
): Promise<Outcome<unknown> | undefined> {
  const replicas = replicasOf(values);
  const at = (...wanted: Stage[]): Replica | undefined =>
    pick(
      replicas.filter(({ status }) => status !== undefined && wanted.includes(status.stage)),
      a,
    ) ?? pick(replicas, a);
  const node = pick(nodes, b) as string;
  const tenant = pick(tenants, a) as string;
  const operations: (() => Promise<Outcome<unknown>> | undefined)[] = [
    ...Array.from({ length: 3 }, () => () => {
      const workload = pick(workloads, b) as string;
      const slot = pick(slots, c) as string;
      const record = values.get(`/t/${tenant}/${workload}/${slot}`) as { incarnation: number } | undefined;
      const object = cell.cache.get({ kind: 'Workload', namespace: tenant, name: workload })?.object;
      return object && cell.tryIncarnate(object, slot, (record?.incarnation ?? 0) + 1);
    }),
    ...Array.from({ length: 3 }, () => () => {
      const replica = at('Queued', 'Scheduled');
      const held = holdsOf(values).find(({ metadata }) => metadata.name === replica?.status?.hold);
      return replica && cell.bind(replica, held?.spec.node ?? node);
    }),
    () => {
      const replica = at('Queued');
      return replica && cell.reserve(replica, node);
    },
    ...Array.from({ length: 2 }, () => () => {
      const replica = at('Queued');
      const victims = replicas.filter(({ status }) => status?.charge?.node === node).slice(0, 1 + (c % 3));
      return replica && cell.reserve(replica, node, { intent: 'Preemption', victims: victims.map(refOf) });
    }),
    () => {
      const hold = pick(holdsOf(values), a);
      const as = c % 2 === 0 ? 'Released' : 'Expired';
      return (
        hold &&
        cell.releaseHold(
          hold.metadata.namespace ?? '',
          { reservation: hold.metadata.name, uid: hold.metadata.uid },
          { as },
        )
      );
    },
    () => {
      const replica = at('Bound', 'Starting', 'Ready', 'Serving', 'Unknown');
      const kinds: Actor['kind'][] = ['user', 'drain', 'rollout', 'workload-controller'];
      return replica && cell.evict(replica, pick(kinds, c));
    },
    ...Array.from({ length: 4 }, () => () => {
      const replica = at('Bound', 'Starting', 'Releasing', 'Unknown');
      if (replica?.status === undefined) return undefined;
      const next: Partial<Record<Stage, Stage>> = {
        Bound: 'Starting',
        Starting: 'Ready',
        Releasing: 'Released',
      };
      return cell.report(replica, (c % 4 === 0 ? pick(stages, b) : next[replica.status.stage]) ?? 'Failed');
    }),
    () => {
      const replica = at('Bound', 'Starting', 'Ready', 'Releasing');
      return replica && cell.lose(replica);
    },
    async () => {
      const replica = at('Unknown', 'Releasing', 'Queued', 'Scheduled');
      const bound = replica?.status?.binding?.node;
      if (replica === undefined) return undefined as never;
      if (bound === undefined) return cell.release(replica, { kind: 'NeverBound' }, 'workload-controller');
      return cell.release(replica, {
        kind: 'FenceExpired',
        stoodSeconds: 130,
        leaseRevision: await cell.leaseVersion(`node-${bound}`),
      });
    },
    async () => {
      const cpu = String([8, 8, 4, 1][c % 4]);
      await cell.node(node, { devices, allocatable: { cpu, memory: '16Gi', devices: { gpu: 2 } } });
      return undefined as never;
    },
    async () => {
      await cell.set('Tenant', tenant, { guaranteed: {}, limit: c % 2 === 0 ? { cpu: String(c % 12) } : {} });
      return cell.grant(tenant);
    },
    () => {
      const replica = at('Succeeded', 'Failed', 'Released');
      return replica && cell.forget(replica, c % 2 === 0);
    },
  ];
  return pick(operations, which)?.();
}

/** [S2] [S3] What a step raised is within what is offered and granted; what was over before may only have shrunk. */
function overruns(before: Values, after: Values): string[] {
  const wrong: string[] = [];
  for (const [key, value] of after) {
    const [, , kind] = key.split('/');
    if (!key.startsWith('/a/') || kind === 'workload') continue;
    const { used, allocatable, grant } = value as NodeAccount & TenantAccount;
    const was = (before.get(key) as NodeAccount | undefined)?.used ?? {};
    for (const [resource, count] of eachResource(used)) {
      const most =
        kind === 'node'
          ? resource === 'replicas'
            ? Number.POSITIVE_INFINITY
            : (countOf(allocatable, resource) ?? 0)
          : (countOf(grant?.most ?? {}, resource) ?? Number.POSITIVE_INFINITY);
      if (count < 0) wrong.push(`${key} ${resource} is ${count}`);
      if (count > (countOf(was, resource) ?? 0) && count > most)
        wrong.push(`${key} ${resource} rose to ${count} of ${most}`);
    }
  }
  return wrong;
}

describe('[S1] [S2] [S3] [S6] [S7] [S12] any operations in any order', () => {
  it('leave accounts equal to charges, raise nothing above what is offered or granted, and follow the graph', async () => {
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 90 }), async (steps) => {
        const cell = await openWorld();
        let values = await everything(cell.store);
        for (const [index, one] of steps.entries()) {
          const outcome = await take(cell, values, one);
          const name = outcome?.kind === 'Rejected' ? outcome.reason : (outcome?.kind ?? 'none');
          seen.set(name, (seen.get(name) ?? 0) + 1);
          const after = await everything(cell.store);
          expect(overruns(values, after), `step ${index}`).toEqual([]);
          expect(await audit(cell.store), `step ${index}`).toEqual([]);
          values = after;
        }
        await cell.cache.close();
      }),
      { numRuns: 25 },
    );
    // It would prove nothing if all were refused.
    for (const name of ['Committed', 'NodeFull', 'QuotaExceeded', 'RankTooLow', 'NoSuchEdge', 'SlotTaken'])
      expect(seen.get(name) ?? 0, name).toBeGreaterThan(0);
    expect(seen.get('Committed')).toBeGreaterThan(300);
  }, 60_000);
});
