import { addAmounts, type Amount, amountOf } from '../model/amount.js';
import type { Amounts } from '../model/parts/amounts.js';
import { rankWeight } from '../model/rank.js';
import type { TenantAccount } from '../model/records.js';
import type { PendingReplica } from './contract.js';
import type { Occupant, OccupiedNode } from './occupants.js';
import type { PreemptingClass, PreemptionCell } from './preemption.js';

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
  return {
    name,
    nodeEpoch: { cell: 1, number: 1 },
    allocatable: amountOf(offers),
    used: all.reduce((sum: Amount, { amount }) => addAmounts(sum, amount), held),
    portOwners: Object.fromEntries(
      all.flatMap(({ ports, replica }) => ports.map((port) => [port, replica.uid])),
    ),
    running: running.toSorted((a, b) => a.rank - b.rank),
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
  return {
    classOf: (classKey) => {
      const { asks = { cpu: '1' }, ...given } = classes[classKey] ?? {};
      const [tenant = '', workload = ''] = classKey.split('/');
      return { tenant, workload, amount: amountOf(asks), ports: [], priority: { value: 0 }, ...given };
    },
    nodesFor: () => nodes,
    allows: (classKey, node) =>
      (counts.get(keyOf(classKey, node)) ?? 0) < (options.perDomainMax ?? Number.POSITIVE_INFINITY),
    disruptionsLeft: (workload) => disruptionsLeft[workload] ?? 1,
    accountOf: (tenant) => ({ used: {}, borrowed: {}, lost: {}, grant: whole, ...accounts[tenant] }),
    tenantSpec: (tenant) => ({ guaranteed: guaranteed[tenant] ?? {} }),
    assume: ({ replica, node }) => {
      const key = keyOf(replica.classKey, node);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    },
    tieOf: (node) => Number(node.replaceAll(/\D/g, '')),
  };
}

export const pendingOf = (classKey: string, count: number, more: Partial<PendingReplica> = {}) =>
  Array.from({ length: count }, (_, slot): PendingReplica => {
    const [tenant = '', workload = ''] = classKey.split('/');
    const name = `${workload}-${slot}-1`;
    return { tenant, name, uid: `uid-${name}`, classKey, workload, slot: String(slot), sinceMs: 0, ...more };
  });
