import { isDeepStrictEqual } from 'node:util';
import { type Amount, countOf, eachResource, ownValue, subtractAmounts } from '../../model/amount.js';
import type { Node } from '../../model/kinds/node.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { Reason } from '../../model/reasons.js';
import type { NodeAccount, TenantAccount, WorkloadAccount } from '../../model/records.js';

/** Changes of the cell that can let somebody run who could not. */
export type Change =
  /** A part of a node is there that was not. */
  | 'NodeCame'
  | 'NodeGone'
  /** There is more room on a node, so much now. */
  | 'NodeFreed'
  /** Its gate or its epoch. */
  | 'NodeOpened'
  /** What its operator or its agent say of it. */
  | 'NodeChanged'
  /** Somebody may be asked to leave who could not be: ranks, limits, neighbours, and what is free beside. */
  | 'VictimsEased'
  /** Replicas of a tenant came or went. */
  | 'NeighboursChanged'
  | 'TenantFreed'
  /** A tenant uses less of its guarantee: its next replica may be guaranteed, and preempt. */
  | 'GuaranteeFreed'
  | 'TenantChanged'
  | 'RegionChanged'
  | 'PriorityChanged'
  | 'WorkloadChanged'
  | 'RevisionChanged'
  | 'GangChanged'
  /** No record says that a node was heard of again. */
  | 'TimePassed';

// Room is made too: whatever lets somebody preempt can cure these.
const room = [
  ...['NodeCame', 'NodeFreed', 'VictimsEased', 'GuaranteeFreed', 'TenantChanged', 'PriorityChanged'],
] as const satisfies readonly Change[];
const shape = ['NodeCame', 'NodeChanged'] as const satisfies readonly Change[];
// Only the authority says these: who hears one backs off, and is not parked.
const neverParked = [] as const;

/** What can cure each reason. A node is new to who was parked before it came: that cures whatever is about nodes. */
export const changesThatCure = {
  NodeFull: room,
  DeviceTaken: room,
  PortTaken: room,
  QuotaExceeded: ['TenantFreed', 'TenantChanged'],
  GrantExhausted: ['TenantFreed', 'TenantChanged'],
  RegionNotAllowed: shape,
  ZoneNotAllowed: shape,
  ResidencyNotAllowed: [...shape, 'TenantChanged', 'RegionChanged'],
  TenancyNotAllowed: shape,
  SelectorMismatch: shape,
  Tainted: shape,
  FenceUnsupported: [...shape, 'WorkloadChanged'],
  PoolReserved: [...shape, 'PriorityChanged'],
  DriverMissing: shape,
  AntiAffinity: [...shape, 'NodeGone', 'NeighboursChanged', 'RevisionChanged'],
  AffinityUnmet: [...shape, 'NeighboursChanged'],
  SpreadViolated: [...shape, 'NeighboursChanged', 'RegionChanged'],
  PluginRefused: [...shape, 'NodeFreed'],
  GateClosed: ['NodeCame', 'NodeOpened'],
  NodeChanged: ['NodeCame', 'NodeOpened'],
  NodeStale: ['NodeCame', 'NodeOpened', 'TimePassed'],
  NoNode: ['NodeCame'],
  ReplicaChanged: ['RevisionChanged'],
  GangIncomplete: ['GangChanged'],
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

/** What a change may cure. */
export interface Cure {
  readonly change: Change;
  readonly reasons: readonly Reason[];
  /** For that tenant alone. */
  readonly tenant?: string;
  /** For those alone of whom one asks for no more than this. */
  readonly room?: Amount;
  /** Likely vain, and many: it is enough to try every now and then. */
  readonly isFaint: boolean;
}

/** What got easier without a record that says so: an assumption was given up, or one that nobody knew of runs after all. */
export interface Easing {
  readonly kind: 'GivenUp' | 'Found';
  readonly node: string;
  readonly tenant: string;
}

const curedBy = new Map<Change, Reason[]>();
for (const [reason, changes] of Object.entries(changesThatCure) as [string, readonly Change[]][])
  for (const change of changes) {
    const known = curedBy.get(change);
    // The keys of the table are reasons.
    if (known === undefined) curedBy.set(change, [reason as Reason]);
    else known.push(reason as Reason);
  }

const cure = (change: Change, of: Pick<Cure, 'tenant' | 'room'> = {}): Cure => ({
  ...of,
  change,
  reasons: curedBy.get(change) ?? [],
  isFaint: change === 'VictimsEased',
});
const nothing: readonly never[] = [];

/** Says what changes of the cell can cure. */
export interface Cures {
  readonly ofRecord: typeof curesOf;
  readonly ofEasing: typeof curesOfEasing;
  /** What time alone can cure. */
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
      return after === undefined ? nothing : [cure('NodeOpened')];
    case 'o':
      return objectCures(kind, namespace === '_' ? name : namespace, before, after);
    case 's':
      if (kind === 'Gang') return [cure('GangChanged', { tenant: namespace })];
      return kind === 'Node' ? nodeObjectCures(before, after) : nothing;
    default:
      return nothing;
  }
}

/** What got easier, and the account of its node as it stands. */
function curesOfEasing({ kind, tenant }: Easing, account: NodeAccount | undefined): readonly Cure[] {
  // Whom it would have evicted may be asked by others again, on whatever node.
  const eased = cure('VictimsEased');
  if (kind === 'Found' || account === undefined) return [eased];
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
      if (before === undefined) return [cure('NodeCame')];
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
    case 'Gang':
      return [cure('GangChanged', { tenant: owner })];
    default:
      return nothing;
  }
}

function nodeObjectCures(before: unknown, after: unknown): readonly Cure[] {
  if (after === undefined) return [cure('NodeGone')];
  // Reports of agents change a status all the time; what placement looks at changes seldom.
  return isDeepStrictEqual(lookedAt(before), lookedAt(after))
    ? nothing
    : [cure('NodeChanged'), cure('VictimsEased')];
}

/** What of a Node's two records placement depends on. */
function lookedAt(part: unknown): unknown {
  const { metadata, spec, status } = (part ?? {}) as Partial<Node>;
  return [metadata?.labels, spec, status?.agent, status?.devices];
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
  if (after === undefined) return [cure('NodeGone')];
  if (before === undefined) return [cure('NodeCame')];
  if (before === after) return nothing;
  const cures: Cure[] = [];
  if (before.gate.state === 'Closed' && after.gate.state === 'Open') cures.push(cure('NodeOpened'));
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
