import { addAmounts, type Amount, amountOf, subtractAmounts } from '../model/amount.js';
import { rankOf } from '../model/asked.js';
import type { Amounts } from '../model/parts/amounts.js';
import { rankWeight } from '../model/rank.js';
import type { TenantAccount } from '../model/records.js';
import type { DecisionDraft, PendingReplica } from './contract.js';
import { type Occupant, type OccupiedNode, rankSteps, withOccupants } from './occupants.js';
import type { PreemptingClass, PreemptionCell } from './preemption-cell.js';

/** Cells as plain data, for tests of planners. */

interface OccupantOptions {
  readonly amount?: Amounts;
  readonly tenant?: string;
  readonly workload?: string;
  readonly rank?: 'Guaranteed' | 'Borrowed';
  readonly priority?: number;
  readonly ports?: readonly number[];
  readonly born?: number;
  readonly awaited?: Amounts;
}

/** A decision that says nothing in particular. */
export const plainDraft: DecisionDraft = {
  ...{ workload: 'train', revision: 'train-1', generation: 1, policyRevision: 'test', result: 'Placed' },
  snapshot: { revision: '1', ageMs: 0, nodes: 4 },
};

/** A replica that runs; of a workload of its own unless one is named. */
export function occupant(
  name: string,
  {
    amount = { cpu: '1' },
    tenant = 'shop',
    workload = name,
    rank = 'Borrowed',
    priority = 0,
    ports = [],
    born = 0,
    awaited,
  }: OccupantOptions = {},
): Occupant {
  return {
    replica: { tenant, name, uid: `uid-${tenant}-${name}` },
    workload: `${tenant}/${workload}`,
    rank: rankWeight(rank, priority),
    isBorrowed: rank === 'Borrowed',
    amount: amountOf(amount),
    ports,
    born,
    ...(awaited !== undefined && { awaited: amountOf(awaited) }),
  };
}

interface NodeOptions {
  readonly offers?: Amounts;
  readonly running?: readonly Occupant[];
  readonly leaving?: readonly Occupant[];
  /** What holds have of it. */
  readonly held?: Amount;
}

export function occupiedNode(
  name: string,
  { offers = { cpu: '8', memory: '16Gi' }, running = [], leaving = [], held = {} }: NodeOptions = {},
): OccupiedNode {
  const all = [...running, ...leaving];
  const inOrder = running.toSorted((a, b) => a.rank - b.rank);
  return {
    name,
    nodeEpoch: { cell: 1, number: 1 },
    tie: Number(name.replaceAll(/\D/g, '')),
    allocatable: amountOf(offers),
    used: all.reduce((sum: Amount, { amount }) => addAmounts(sum, amount), held),
    portOwners: Object.fromEntries(
      all.flatMap(({ ports, replica }) => ports.map((port) => [port, replica.uid])),
    ),
    running: inOrder,
    steps: rankSteps(inOrder),
    leaving,
  };
}

interface PlainCellOptions {
  readonly nodes: readonly OccupiedNode[];
  readonly classes: Readonly<Record<string, Partial<PreemptingClass> & { readonly asks?: Amounts }>>;
  readonly guaranteed?: Readonly<Record<string, Amounts>>;
  readonly accounts?: Readonly<Record<string, Partial<TenantAccount>>>;
  /** One for each workload that is not named, as a workload's own default is. */
  readonly disruptionsLeft?: Readonly<Record<string, number>>;
  /** At most so many replicas of a class on a node or, with `domainOf`, in a domain. */
  readonly perDomainMax?: number;
  readonly domainOf?: (node: string) => string;
}

const whole = { most: {}, epoch: { cell: 1, number: 1 }, source: 'Whole' } as const;

export function plainCell(options: PlainCellOptions): PreemptionCell {
  const { nodes, classes, guaranteed = {}, accounts = {}, disruptionsLeft = {}, domainOf = String } = options;
  const counts = new Map<string, number>();
  const keyOf = (classKey: string, node: string): string => `${classKey}@${domainOf(node)}`;
  const current = new Map(nodes.map((node) => [node.name, node]));
  const disrupted = new Map<string, number>();
  const charged = new Map<string, TenantAccount>();
  const accountOf = (tenant: string): TenantAccount =>
    charged.get(tenant) ?? { used: {}, borrowed: {}, lost: {}, grant: whole, ...accounts[tenant] };
  const tenantSpec = (tenant: string) => ({ guaranteed: guaranteed[tenant] ?? {} });
  const classOf = (classKey: string): PreemptingClass => {
    const { asks = { cpu: '1' }, ...given } = classes[classKey] ?? {};
    const [tenant = '', workload = ''] = classKey.split('/');
    return {
      tenant,
      workload,
      amount: amountOf(asks),
      ports: [],
      priority: { value: 0 },
      isDaemon: false,
      ...given,
    };
  };
  return {
    isReady: () => true,
    classOf,
    nodesFor: () => current.values(),
    refusal: (classKey, node) =>
      (counts.get(keyOf(classKey, node)) ?? 0) < (options.perDomainMax ?? Number.POSITIVE_INFINITY)
        ? undefined
        : 'SpreadViolated',
    disruptionsLeft: (workload) => (disruptionsLeft[workload] ?? 1) - (disrupted.get(workload) ?? 0),
    accountOf,
    tenantSpec,
    assume: ({ replica, node }, victims) => {
      const key = keyOf(replica.classKey, node);
      counts.set(key, (counts.get(key) ?? 0) + 1);
      for (const {
        occupant: { workload },
        isLimited,
      } of victims)
        if (isLimited) disrupted.set(workload, (disrupted.get(workload) ?? 0) + 1);
      const { tenant } = replica;
      const account = accountOf(tenant);
      const { amount } = classOf(replica.classKey);
      const there = current.get(node);
      const gone = new Map(victims.map(({ occupant: one, awaited }) => [one, { ...one, awaited }]));
      const awaitedInAll = victims.reduce((sum: Amount, { awaited }) => addAmounts(sum, awaited), {});
      if (there !== undefined)
        current.set(
          node,
          withOccupants(there, {
            used: addAmounts(there.used, subtractAmounts(amount, awaitedInAll)),
            running: there.running.filter((one) => !gone.has(one)),
            leaving: [...there.leaving.filter((one) => !gone.has(one)), ...gone.values()],
          }),
        );
      const isBorrowed = rankOf(account, tenantSpec(tenant), amount) === 'Borrowed';
      charged.set(tenant, {
        ...account,
        used: addAmounts(account.used, { ...amount, replicas: 1 }),
        borrowed: isBorrowed ? addAmounts(account.borrowed, amount) : account.borrowed,
      });
    },
  };
}

export const pendingOf = (classKey: string, count: number, more: Partial<PendingReplica> = {}) =>
  Array.from({ length: count }, (_, slot): PendingReplica => {
    const [tenant = '', workload = ''] = classKey.split('/');
    const name = `${workload}-${slot}-1`;
    return { tenant, name, uid: `uid-${name}`, classKey, workload, slot: String(slot), sinceMs: 0, ...more };
  });
