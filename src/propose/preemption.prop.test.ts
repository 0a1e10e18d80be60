import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addAmounts, type Amount, countOf, eachResource, subtractAmounts } from '../model/amount.js';
import type { Amounts } from '../model/parts/amounts.js';
import { rankWeight } from '../model/rank.js';
import type { Occupant, OccupiedNode } from './occupants.js';
import { PreemptionPlanner } from './preemption.js';
import { occupant, occupiedNode, pendingOf, plainCell } from './plain-cell.fixture.js';

const offers: Amounts = { cpu: '4', memory: '4Gi', devices: { gpu: 2 } };
const amounts = fc.tuple(fc.nat(3), fc.nat(3), fc.nat(2)).map(([cpu, memory, gpu]): Amounts => ({
  cpu: String(cpu),
  memory: `${memory}Gi`,
  ...(gpu > 0 && { devices: { gpu } }),
}));

const guest = fc.record({
  amount: amounts,
  rank: fc.constantFrom('Guaranteed' as const, 'Borrowed' as const),
  priority: fc.nat(3),
  born: fc.nat(4),
  port: fc.option(fc.constantFrom(80, 81), { nil: undefined }),
  workload: fc.constantFrom('a', 'b', 'c'),
  isLeaving: fc.boolean(),
  isAwaited: fc.boolean(),
});

const cell = fc.record({
  nodes: fc.array(fc.array(guest, { maxLength: 6 }), { minLength: 1, maxLength: 3 }),
  asks: amounts,
  ports: fc.subarray([80, 81]),
  priority: fc.nat(4),
  guaranteedCpu: fc.nat(3),
  limits: fc.record({ 'shop/a': fc.nat(2), 'shop/b': fc.nat(2), 'shop/c': fc.nat(2) }),
});

type Case = typeof cell extends fc.Arbitrary<infer T> ? T : never;

function nodesOf({ nodes }: Case): OccupiedNode[] {
  return nodes.map((guests, index) => {
    const taken = new Set<number>();
    const made = guests.map(({ isLeaving, isAwaited, port, ...one }, number) => {
      const isFree = port !== undefined && !taken.has(port);
      if (isFree) taken.add(port);
      const ports = isFree ? [port] : [];
      const awaited = isLeaving && isAwaited ? { awaited: { cpu: '1' } } : {};
      return { isLeaving, one: occupant(`r${index}${number}`, { ...one, ports, ...awaited }) };
    });
    return occupiedNode(`n${index}`, {
      offers,
      running: made.filter(({ isLeaving }) => !isLeaving).map(({ one }) => one),
      leaving: made.filter(({ isLeaving }) => isLeaving).map(({ one }) => one),
    });
  });
}

interface Asked {
  readonly amount: Amount;
  readonly ports: readonly number[];
  readonly rank: number;
  readonly isGuaranteed: boolean;
  readonly limits: Readonly<Record<string, number>>;
}

/** Whether it fits once these have gone, said as plainly as it can be. */
function fits(node: OccupiedNode, gone: readonly Occupant[], { amount, ports }: Asked): boolean {
  const free = gone.reduce(
    (sum, one) => addAmounts(sum, one.amount),
    subtractAmounts(node.allocatable, node.used),
  );
  for (const [resource, count] of eachResource(amount))
    if (count > 0 && count > (countOf(free, resource) ?? 0)) return false;
  return ports.every((port) => {
    const owner = node.portOwners[port];
    return owner === undefined || gone.some(({ replica }) => replica.uid === owner);
  });
}

function isAllowed(evicted: readonly Occupant[], { rank, isGuaranteed, limits }: Asked): boolean {
  const limited = evicted.filter(({ isBorrowed }) => !(isGuaranteed && isBorrowed));
  return (
    evicted.every((one) => one.rank < rank) &&
    Object.entries(limits).every(
      ([workload, most]) => limited.filter((one) => one.workload === workload).length <= most,
    )
  );
}

/** The stated order, as numbers to compare one after another. */
function harmOf(node: OccupiedNode, evicted: readonly Occupant[], left: readonly Occupant[], asked: Asked) {
  const free = left.reduce(
    (sum, one) => addAmounts(sum, one.amount),
    subtractAmounts(node.allocatable, node.used),
  );
  let excess = 0;
  for (const [resource, most] of eachResource(node.allocatable)) {
    const wanted = countOf(asked.amount, resource) ?? 0;
    const missing = wanted === 0 ? 0 : Math.max(0, wanted - (countOf(free, resource) ?? 0));
    const freed = evicted.reduce((sum, one) => sum + (countOf(one.amount, resource) ?? 0), 0);
    excess += (freed - missing) / most;
  }
  return [
    Math.max(-Infinity, ...evicted.map(({ rank }) => rank)),
    evicted.length,
    Math.round(excess * 1e6),
    -Math.min(...evicted.map(({ born }) => born)),
  ];
}

const compare = (a: readonly number[], b: readonly number[]): number => {
  for (const [index, one] of a.entries()) if (one !== b[index]) return one - (b[index] ?? 0);
  return 0;
};

const subsets = <T>(items: readonly T[]): T[][] =>
  items.reduce<T[][]>((all, item) => [...all, ...all.map((some) => [...some, item])], [[]]);

describe('plans of preemption in generated cells', () => {
  it('need every victim, break no rule, and nothing that anybody finds by looking at all sets is better', () => {
    let planned = 0;
    fc.assert(
      fc.property(cell, (given) => {
        const nodes = nodesOf(given);
        const guaranteed = { bank: { cpu: String(given.guaranteedCpu), memory: '9Gi', devices: { gpu: 9 } } };
        const view = plainCell({
          nodes,
          classes: {
            'bank/urgent': { asks: given.asks, ports: given.ports, priority: { value: given.priority } },
          },
          guaranteed,
          disruptionsLeft: given.limits,
        });
        const amount = view.classOf('bank/urgent')?.amount ?? {};
        const isGuaranteed = (amount.cpuMilli ?? 0) <= given.guaranteedCpu * 1_000;
        const asked: Asked = {
          amount,
          ports: given.ports,
          isGuaranteed,
          rank: rankWeight(isGuaranteed ? 'Guaranteed' : 'Borrowed', given.priority),
          limits: given.limits,
        };
        // One that fits somewhere as it is would never be planned for.
        fc.pre(!nodes.some((node) => fits(node, [], asked)));
        const { plans, comesFree } = new PreemptionPlanner(view).plan(
          'bank/urgent',
          pendingOf('bank/urgent', 1),
        );
        const ways = nodes.flatMap((node) => {
          const left = node.leaving.filter((one) => one.awaited === undefined && one.rank < asked.rank);
          return subsets(node.running)
            .filter((evicted) => isAllowed(evicted, asked) && fits(node, [...left, ...evicted], asked))
            .map((evicted) => harmOf(node, evicted, left, asked));
        });
        const [plan] = plans;
        if (plan === undefined) {
          // Nobody is asked to leave where nobody can help, or where room comes without it.
          expect(
            ways.length === 0 || (comesFree.length === 1 && ways.every(([, count]) => count !== 0)),
          ).toBe(true);
          return;
        }
        planned += 1;
        const node = nodes.find(({ name }) => name === plan.node) as OccupiedNode;
        const named = (some: readonly Occupant[]): Occupant[] =>
          some.filter(({ replica }) => plan.victims.includes(replica));
        const [evicted, goes] = [named(node.running), named(node.leaving)];
        expect(evicted.length + goes.length).toBe(plan.victims.length);
        expect(isAllowed(evicted, asked) && isAllowed(goes, { ...asked, limits: {} })).toBe(true);
        expect(goes.every(({ awaited }) => awaited === undefined)).toBe(true);
        const all = [...evicted, ...goes];
        expect(fits(node, all, asked)).toBe(true);
        for (const one of all)
          expect(
            fits(
              node,
              all.filter((other) => other !== one),
              asked,
            ),
          ).toBe(false);
        const left = node.leaving.filter((one) => one.awaited === undefined && one.rank < asked.rank);
        const harm = harmOf(node, evicted, left, asked);
        for (const way of ways) expect(compare(harm, way)).toBeLessThanOrEqual(0);
      }),
      { numRuns: 3_000 },
    );
    expect(planned).toBeGreaterThan(300);
  });
});
