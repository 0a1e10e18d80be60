import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { done, refOf } from '../commit/test-cell.fixture.js';
import { addAmounts, amountOf, firstOver, subtractAmounts } from '../model/amount.js';
import { rankOf } from '../model/asked.js';
import type { Replica } from '../model/kinds/replica.js';
import type { BerthObject } from '../model/object.js';
import type { Amounts } from '../model/parts/amounts.js';
import { openPreemptingCell, type PreemptingCell } from './preempting-cell.fixture.js';

const tenants = ['bank', 'shop', 'lab'] as const;
const sizes: readonly Amounts[] = [
  { cpu: '1' },
  { cpu: '2', memory: '2Gi' },
  { cpu: '3' },
  { memory: '5Gi' },
  { cpu: '4', memory: '1Gi' },
];

const generated = fc.record({
  nodes: fc.array(fc.constantFrom('3', '4', '6'), { minLength: 1, maxLength: 2 }),
  guaranteed: fc.tuple(fc.nat(2), fc.nat(3), fc.nat(1)),
  priorities: fc.tuple(fc.integer({ min: -2, max: 0 }), fc.integer({ min: 1, max: 2 })),
  workloads: fc.array(
    fc.record({
      tenant: fc.constantFrom(...tenants),
      asks: fc.constantFrom(...sizes),
      priority: fc.constantFrom('low', 'default', 'top'),
      replicas: fc.integer({ min: 1, max: 4 }),
      maxUnavailable: fc.constantFrom(1, 4),
    }),
    { minLength: 4, maxLength: 7 },
  ),
  /** Whose turn it is next: no order of the queue must be needed for coming to rest. */
  turns: fc.array(fc.nat(999), { minLength: 40, maxLength: 40 }),
});

type Case = typeof generated extends fc.Arbitrary<infer T> ? T : never;

interface Work {
  readonly object: BerthObject;
  readonly asks: Amounts;
}

async function openCase(given: Case) {
  const world = await openPreemptingCell({ isAudited: false });
  const { cell } = world;
  await cell.create('PriorityClass', undefined, 'low', { value: given.priorities[0] });
  await cell.create('PriorityClass', undefined, 'top', { value: given.priorities[1] });
  for (const [index, name] of tenants.entries())
    await cell.tenant(name, { guaranteed: { cpu: String(given.guaranteed[index]), memory: '4Gi' } });
  for (const [index, cpu] of given.nodes.entries())
    await cell.node(`n${index}`, { allocatable: { cpu, memory: '8Gi' } });
  const works = new Map<string, Work>();
  const queue: Replica[] = [];
  for (const [index, { tenant, asks, priority, replicas, maxUnavailable }] of given.workloads.entries()) {
    const object = await cell.workload(tenant, `w${index}`, asks, {
      replicas,
      priorityClassName: priority,
      disruption: { maxUnavailable },
    });
    works.set(`${tenant}/w${index}`, { object, asks });
    for (let slot = 0; slot < replicas; slot++) queue.push(await cell.incarnate(object, String(slot)));
  }
  return { world, works, queue };
}

/** The first node that takes it as the cell is, in the eyes of the authority. */
async function bindSomewhere({ cell, bindAndStart }: PreemptingCell, replica: Replica, nodes: number) {
  for (let index = 0; index < nodes; index++) {
    if ((await cell.reserve(replica, `n${index}`)).kind !== 'Committed') continue;
    await bindAndStart(replica, `n${index}`);
    return true;
  }
  return false;
}

describe('preemption comes to rest', () => {
  it('[L9, L10] whatever tenants, guarantees, priorities and sizes: no state twice, an end, and guarantees kept', async () => {
    let preemptions = 0;
    await fc.assert(
      fc.asyncProperty(generated, async (given) => {
        const { world, works, queue } = await openCase(given);
        const { cell, picture } = world;
        const live = new Map<string, Replica>();
        const seen = new Set<string>();
        const charged = (): string =>
          [...live.values()]
            .map(({ metadata, spec }) => {
              const charge = picture.replica(metadata.namespace ?? '', metadata.name)?.status?.charge;
              return `${metadata.namespace}/${spec.workload}/${spec.slot}@${charge?.node}:${charge?.rank}`;
            })
            .toSorted()
            .join();
        let idle = 0;
        let steps = 0;
        for (let turn = 0; queue.length > 0 && idle < queue.length; turn++) {
          // All take turns from where chance says, so that each is asked before all are found to be idle.
          const at = idle === 0 ? (given.turns[turn % given.turns.length] ?? 0) % queue.length : 0;
          const [replica] = queue.splice(at, 1) as [Replica];
          steps += 1;
          expect(steps, 'no end').toBeLessThan(2_000);
          if (await bindSomewhere(world, replica, given.nodes.length)) {
            live.set(replica.metadata.uid, replica);
            idle = 0;
            continue;
          }
          const { plans, comesFree } = world.plan(replica);
          // All that were asked to leave have left.
          expect(comesFree).toEqual([]);
          const [plan] = plans;
          if (plan === undefined) {
            queue.push(replica);
            idle += 1;
            continue;
          }
          idle = 0;
          preemptions += 1;
          done(await world.reserve(replica, plan));
          await world.endVictims(live, plan);
          await world.bindAndStart(replica, plan.node);
          live.set(replica.metadata.uid, replica);
          for (const { uid } of plan.victims) {
            const victim = live.get(uid) as Replica;
            live.delete(uid);
            const { workload, slot, incarnation } = victim.spec;
            const work = works.get(`${victim.metadata.namespace}/${workload}`) as Work;
            queue.push(await cell.incarnate(work.object, slot, incarnation + 1));
          }
          const state = charged();
          expect(seen.has(state), `twice: ${state}`).toBe(false);
          seen.add(state);
        }
        // Who still waits and would be within its guarantee could not be placed if all borrowers left.
        for (const replica of queue) {
          const { tenant } = refOf(replica);
          const amount = amountOf((works.get(`${tenant}/${replica.spec.workload}`) as Work).asks);
          if (rankOf(picture.tenantAccount(tenant), picture.tenant(tenant).spec, amount) !== 'Guaranteed')
            continue;
          for (const [index] of given.nodes.entries()) {
            const account = picture.nodes.accounts[picture.nodes.rowOf(`n${index}`) ?? 0];
            const borrowed = [...live.values()]
              .filter(
                ({ spec, metadata }) =>
                  `${metadata.namespace}/${spec.workload}` !== `${tenant}/${replica.spec.workload}`,
              )
              .map(({ metadata }) => picture.replica(metadata.namespace ?? '', metadata.name)?.status?.charge)
              .filter((charge) => charge?.node === `n${index}` && charge.rank === 'Borrowed')
              .reduce((sum, charge) => addAmounts(sum, amountOf(charge?.amounts ?? {})), {});
            const used = subtractAmounts(account?.used ?? {}, borrowed);
            expect(firstOver(used, amount, account?.allocatable ?? {}, 'isNone')).toBeDefined();
          }
        }
      }),
      { numRuns: 50 },
    );
    expect(preemptions).toBeGreaterThan(30);
  }, 60_000);
});
