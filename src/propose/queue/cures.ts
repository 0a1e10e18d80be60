import { isDeepStrictEqual } from 'node:util';
import { type Amount, countOf, eachResource, ownValue, subtractAmounts } from '../../model/amount.js';
import type { Node } from '../../model/kinds/node.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { Reason } from '../../model/reasons.js';
import type { NodeAccount, TenantAccount, WorkloadAccount } from '../../model/records.js';

/** Changes of the cell that can let a waiting replica run. */
export type Change =
  /** A part of a node is there that was not. */
  | 'NodeCame'
  /** A node has more room. */
  | 'NodeFreed'
  /** The gate of a node opened, or the node has another epoch. */
  | 'NodeOpened'
  /** The operator or the agent says something else of a node. */
  | 'NodeChanged'
  /** A replica became evictable (ranks, limits, neighbours), or room that was to come free does not come. */
  | 'VictimsEased'
  /** Replicas of a tenant came or went. */
  | 'NeighboursChanged'
  /** A tenant uses less of its grant, or has another one. */
  | 'TenantFreed'
  /** A tenant uses less of its guarantee: its next replica may be guaranteed, and preempt. */
  | 'GuaranteeFreed'
  | 'TenantChanged'
  | 'RegionChanged'
  | 'PriorityChanged'
  | 'WorkloadChanged'
  | 'RevisionChanged'
  /** Heartbeats show in no record that schedulers follow, and a custom filter may look at anything of a node. */
  | 'TimePassed';

// Room is made too: whatever lets a replica preempt can cure these.
const room = [
  ...([
    'NodeCame',
    'NodeFreed',
    'VictimsEased',
    'GuaranteeFreed',
    'TenantChanged',
    'PriorityChanged',
  ] as const),
] as const satisfies readonly Change[];
const shape = ['NodeCame', 'NodeChanged'] as const satisfies readonly Change[];
// The authority alone gives these reasons. A replica that is rejected backs off; a gang waits outside the queue.
const neverParked = [] as const;

/** The changes that can cure each reason. Each entry is needed: `berth simulate --mutants --only wake` removes one at a time. */
export const changesThatCure = {
  NodeFull: room,
  DeviceTaken: room,
  PortTaken: room,
  QuotaExceeded: ['TenantFreed'],
  GrantExhausted: ['TenantFreed'],
  RegionNotAllowed: shape,
  ZoneNotAllowed: shape,
  ResidencyNotAllowed: [...shape, 'TenantChanged', 'RegionChanged'],
  TenancyNotAllowed: shape,
  SelectorMismatch: shape,
  Tainted: shape,
  FenceUnsupported: [...shape, 'WorkloadChanged'],
  PoolReserved: [...shape, 'PriorityChanged'],
  DriverMissing: shape,
  AntiAffinity: [...shape, 'NeighboursChanged', 'RevisionChanged'],
  // Without NodeCame: where the neighbour runs, its node is refused for another reason, which a new node cures as well.
  AffinityUnmet: ['NodeChanged', 'NeighboursChanged'],
  SpreadViolated: [...shape, 'NeighboursChanged', 'TenantChanged', 'RegionChanged'],
  PluginRefused: [...shape, 'NodeFreed', 'TimePassed'],
  GateClosed: ['NodeCame', 'NodeOpened'],
  NodeChanged: ['NodeCame', 'NodeOpened'],
  NodeStale: ['NodeCame', 'TimePassed'],
  NoNode: ['NodeCame'],
  ReplicaChanged: ['RevisionChanged'],
  GangIncomplete: neverParked,
  FenceUnsound: neverParked,
  SlotTaken: neverParked,
  AlreadyBound: neverParked,
  HoldGone: neverParked,
  DisruptionLimit: neverParked,
  RankTooLow: neverParked,
  StaleEpoch: neverParked,
  TooManyVictims: neverParked,
  NotTaken: neverParked,
  NotOwner: neverParked,
  NoSuchEdge: neverParked,
  GangCommitted: neverParked,
  EndpointsChanged: neverParked,
  Contended: neverParked,
} as const satisfies Readonly<Record<Reason, readonly Change[]>>;

type ChangesThatCure = typeof changesThatCure;
/** Every reason under which a replica can be parked. */
export type ParkReason = {
  [R in Reason]: ChangesThatCure[R] extends readonly [] ? never : R;
}[Reason];
/** The changes that cure a reason. */
export type ChangeCuring<R extends ParkReason> = ChangesThatCure[R][number];

/** The rank of an evictable replica: only work that ranks above it may evict it. */
export interface Outranked {
  readonly priority: number;
  readonly isBorrowed: boolean;
}

/** Work that may rank above one of two ranks may rank above this one. */
export const lowerOf = (a: Outranked | undefined, b: Outranked): Outranked =>
  a === undefined
    ? b
    : { priority: Math.min(a.priority, b.priority), isBorrowed: a.isBorrowed || b.isBorrowed };

/** Whether work of this priority may rank above it, with or without a guarantee of its tenant. */
export const mayRankAbove = (priority: number, isGuaranteed: boolean, outranked: Outranked): boolean =>
  priority > outranked.priority || (isGuaranteed && outranked.isBorrowed);

/** What a change may cure. */
export interface Cure {
  readonly change: Change;
  readonly reasons: readonly ParkReason[];
  /** For that tenant alone. */
  readonly tenant?: string;
  /** For those alone of whom one asks for no more than this. */
  readonly room?: Amount;
  /** For work alone that may rank above this. */
  readonly above?: Outranked;
  /** Likely vain, and many: it is enough to try every now and then. */
  readonly isFaint: boolean;
}

/** Room or quota that came without a record of a node or a tenant that says so. */
export type Easing =
  | {
      /**
       * GivenUp: an assumed placement was refused, or the replica is charged elsewhere. Found: a replica is Unknown no
       * longer. NotComing: the room of a replica that was Releasing will not come, or goes to a hold.
       */
      readonly kind: 'GivenUp' | 'Found' | 'NotComing';
      readonly node: string;
      readonly tenant: string;
    }
  /** Replicas became evictable: the lowest rank among them. */
  | { readonly kind: 'Came'; readonly above: Outranked };

// The entries of the table, which Object.entries knows as strings only.
const changesOf = Object.entries(changesThatCure) as readonly (readonly [ParkReason, readonly Change[]])[];
export const parkReasons: readonly ParkReason[] = changesOf
  .filter(([, changes]) => changes.length > 0)
  .map(([reason]) => reason);
const curedBy = new Map<Change, ParkReason[]>();
for (const [reason, changes] of changesOf)
  for (const change of changes) {
    const known = curedBy.get(change);
    if (known === undefined) curedBy.set(change, [reason]);
    else known.push(reason);
  }

const cure = (change: Change, of: Pick<Cure, 'tenant' | 'room' | 'above'> = {}): Cure => ({
  ...of,
  change,
  reasons: curedBy.get(change) ?? [],
  isFaint: change === 'VictimsEased',
});
const nothing: readonly never[] = [];

/** Knows the cures of each change of the cell. */
export interface Cures {
  readonly ofRecord: typeof curesOf;
  readonly ofEasing: typeof curesOfEasing;
  /** The reasons that time alone can cure. */
  readonly ofTime: () => Cure;
}

export const allCures: Cures = {
  ofRecord: curesOf,
  ofEasing: curesOfEasing,
  ofTime: () => cure('TimePassed'),
};

/** What the change of a record can cure. A parsed boundary: only admitted records stand under these keys. */
function curesOf(key: string, before: unknown, after: unknown): readonly Cure[] {
  // Before its key is taken apart: every bind changes one.
  if (key.startsWith('/a/node/'))
    return nodeCures(before as NodeAccount | undefined, after as NodeAccount | undefined);
  const [, root, kind = '', namespace = '', name = ''] = key.split('/', 5);
  switch (root) {
    case 'a':
      if (kind === 'tenant')
        return tenantCures(
          namespace,
          before as TenantAccount | undefined,
          after as TenantAccount | undefined,
        );
      return kind === 'workload'
        ? accountCures(namespace, before as WorkloadAccount | undefined, after as WorkloadAccount | undefined)
        : nothing;
    case 'e':
      return after === undefined ? nothing : [cure(before === undefined ? 'NodeCame' : 'NodeOpened')];
    case 'o':
      return objectCures(kind, namespace === '_' ? name : namespace, before, after);
    case 's':
      return kind === 'Node' ? nodeObjectCures(before, after) : nothing;
    default:
      return nothing;
  }
}

/** `account`: of the node of the easing, as the account stands. */
function curesOfEasing(easing: Easing, account: NodeAccount | undefined): readonly Cure[] {
  if (easing.kind === 'Came') return [cure('VictimsEased', { above: easing.above })];
  // The victims of a plan that is given up are free for other plans, on any node.
  const eased = cure('VictimsEased');
  if (easing.kind !== 'GivenUp' || account === undefined) return [eased];
  const { tenant } = easing;
  return [
    eased,
    cure('NodeFreed', { room: subtractAmounts(account.allocatable, account.used) }),
    ...(['NeighboursChanged', 'TenantFreed', 'GuaranteeFreed'] as const).map((one) => cure(one, { tenant })),
  ];
}

/** `owner`: the tenant of the object, or the name of one that belongs to the cluster. */
function objectCures(kind: string, owner: string, before: unknown, after: unknown): readonly Cure[] {
  switch (kind) {
    case 'Node':
      return nodeObjectCures(before, after);
    case 'Tenant':
      return [cure('TenantChanged', { tenant: owner })];
    case 'Region':
      return [cure('RegionChanged')];
    case 'PriorityClass':
      return [cure('PriorityChanged')];
    case 'Workload':
      return workloadCures(owner, before as Workload | undefined, after as Workload | undefined);
    case 'WorkloadRevision':
      return [cure('RevisionChanged', { tenant: owner })];
    default:
      return nothing;
  }
}

function nodeObjectCures(before: unknown, after: unknown): readonly Cure[] {
  if (after === undefined) return nothing;
  if (before === undefined) return [cure('NodeCame')];
  // Reports of agents change a status all the time; what placement looks at changes seldom.
  return isDeepStrictEqual(lookedAt(before), lookedAt(after))
    ? nothing
    : [cure('NodeChanged'), cure('VictimsEased')];
}

/** What of a Node's two records placement depends on. */
function lookedAt(part: unknown): unknown {
  const { metadata, spec, status } = (part ?? {}) as Partial<Node>;
  return [metadata?.labels, metadata?.deletionTimestamp, spec, status?.agent, status?.devices];
}

function workloadCures(
  tenant: string,
  before: Workload | undefined,
  after: Workload | undefined,
): readonly Cure[] {
  // With a new one nobody has waited yet, and none of it could leave.
  if (before === undefined) return nothing;
  const cures: Cure[] = [];
  if (before.spec.onNodeLost?.action !== after?.spec.onNodeLost?.action)
    cures.push(cure('WorkloadChanged', { tenant }));
  if (!isDeepStrictEqual(before.spec.disruption, after?.spec.disruption)) cures.push(cure('VictimsEased'));
  return cures;
}

function accountCures(
  tenant: string,
  before: WorkloadAccount | undefined,
  after: WorkloadAccount | undefined,
): readonly Cure[] {
  const neighbours = cure('NeighboursChanged', { tenant });
  return (after?.disrupted ?? 0) < (before?.disrupted ?? 0)
    ? [neighbours, cure('VictimsEased')]
    : [neighbours];
}

function nodeCures(before: NodeAccount | undefined, after: NodeAccount | undefined): readonly Cure[] {
  if (after === undefined) return nothing;
  if (before === undefined) return [cure('NodeCame')];
  if (before === after) return nothing;
  const cures: Cure[] = [];
  // A gate that closes ends the wait for room that was to come free on its node.
  if (before.gate.state !== after.gate.state)
    cures.push(cure(after.gate.state === 'Open' ? 'NodeOpened' : 'VictimsEased'));
  const { allocatable, used, claims, revisions, devices } = after;
  const isFreer =
    isLess(used, before.used) ||
    isLess(before.allocatable, allocatable) ||
    isSmaller(claims.devices, before.claims.devices) ||
    isSmaller(claims.ports, before.claims.ports) ||
    hasMore(devices, before.devices);
  // Who may preempt there needs what the node has, not what is free: the rest is others' who could leave.
  if (isFreer)
    cures.push(
      cure('NodeFreed', { room: subtractAmounts(allocatable, used) }),
      cure('VictimsEased', { room: allocatable }),
    );
  for (const tenant of tenantsOfFewer(revisions, before.revisions))
    cures.push(cure('NeighboursChanged', { tenant }));
  return cures.length === 0 ? nothing : cures;
}

function tenantCures(
  tenant: string,
  before: TenantAccount | undefined,
  after: TenantAccount | undefined,
): readonly Cure[] {
  if (after === undefined) return nothing;
  if (before === undefined) return [cure('TenantFreed', { tenant }), cure('GuaranteeFreed', { tenant })];
  const isFreer = isLess(after.used, before.used) || !isDeepStrictEqual(before.grant, after.grant);
  const freed = isFreer ? [cure('TenantFreed', { tenant })] : nothing;
  return isGuaranteeFreer(before, after) ? [...freed, cure('GuaranteeFreed', { tenant })] : freed;
}

/** Whether less of some resource is used that is not borrowed. Asked for every bind: nothing is made for it. */
function isGuaranteeFreer(before: TenantAccount, after: TenantAccount): boolean {
  const held = ({ used, borrowed }: TenantAccount, resource: string): number =>
    (countOf(used, resource) ?? 0) - (countOf(borrowed, resource) ?? 0);
  if (held(after, 'cpu') < held(before, 'cpu') || held(after, 'memory') < held(before, 'memory')) return true;
  for (const name in before.used.devices)
    if (held(after, `device/${name}`) < held(before, `device/${name}`)) return true;
  return false;
}

/** Whether there is less of some resource. */
function isLess(a: Amount, b: Amount): boolean {
  if ((a.cpuMilli ?? 0) < (b.cpuMilli ?? 0) || (a.memoryBytes ?? 0) < (b.memoryBytes ?? 0)) return true;
  if ((a.replicas ?? 0) < (b.replicas ?? 0)) return true;
  if (b.devices === undefined) return false;
  for (const [name, count] of eachResource(b)) if ((countOf(a, name) ?? 0) < count) return true;
  return false;
}

/** Whether something of it is gone. */
function isSmaller(
  after: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>>,
): boolean {
  if (after === before) return false;
  for (const name in before) if (after[name] === undefined) return true;
  return false;
}

/** Whether there is a device that was not. Asked for every bind: nothing is made for it. */
function hasMore(after: NodeAccount['devices'], before: NodeAccount['devices']): boolean {
  if (after === before) return false;
  for (const name in after) {
    const known = ownValue(before, name);
    for (const id of after[name] ?? []) if (known?.includes(id) !== true) return true;
  }
  return false;
}

/** The tenants of whose revisions there are fewer. */
function tenantsOfFewer(
  after: Readonly<Record<string, number>>,
  before: Readonly<Record<string, number>>,
): Iterable<string> {
  if (after === before) return nothing;
  let tenants: Set<string> | undefined;
  for (const key in before)
    if ((after[key] ?? 0) < (before[key] as number))
      (tenants ??= new Set()).add(key.slice(0, key.indexOf('/')));
  return tenants ?? nothing;
}
