import { isDeepStrictEqual } from 'node:util';
import { type Amount, eachResource, countOf } from '../../model/amount.js';
import type { Node } from '../../model/kinds/node.js';
import type { Reason } from '../../model/reasons.js';
import type { NodeAccount, TenantAccount } from '../../model/records.js';

/** Changes of the cell that can let somebody run who could not, and the reasons they can cure. */
const curedBy = {
  NodeFreed: [
    'NodeFull',
    'DeviceTaken',
    'PortTaken',
    'AntiAffinity',
    'SpreadViolated',
    'RankTooLow',
    'HoldGone',
    'NoNode',
    'AffinityUnmet',
    'PluginRefused',
  ],
  NodeOpened: ['GateClosed', 'NodeChanged', 'NodeFull', 'NoNode', 'NodeStale'],
  NodeChanged: [
    ...['RegionNotAllowed', 'ZoneNotAllowed', 'ResidencyNotAllowed', 'TenancyNotAllowed'],
    ...['SelectorMismatch', 'Tainted', 'FenceUnsupported', 'PoolReserved', 'SpreadViolated'],
    ...['DriverMissing', 'NoNode', 'PluginRefused'],
  ],
  TenantFreed: ['QuotaExceeded', 'GrantExhausted'],
  TenantChanged: ['QuotaExceeded', 'GrantExhausted', 'ResidencyNotAllowed', 'TenancyNotAllowed'],
  RegionChanged: ['RegionNotAllowed', 'ZoneNotAllowed', 'ResidencyNotAllowed'],
  PriorityChanged: ['PoolReserved', 'RankTooLow'],
  WorkloadChanged: [
    'SpreadViolated',
    'AntiAffinity',
    'AffinityUnmet',
    'DisruptionLimit',
    'ReplicaChanged',
    'SlotTaken',
  ],
  GangChanged: ['GangIncomplete', 'GangCommitted'],
} as const satisfies Record<string, readonly Reason[]>;

/** What a change may cure. With a tenant: for that tenant alone. */
export interface Cure {
  readonly reasons: readonly Reason[];
  readonly tenant?: string;
}

const cure = (change: keyof typeof curedBy, tenant?: string): Cure => ({
  reasons: curedBy[change],
  ...(tenant !== undefined && { tenant }),
});

/** What the change of a record can cure; undefined: nothing. */
export function cureOf(key: string, before: unknown, after: unknown): Cure | undefined {
  const [, root, kind = '', namespace = '', name = ''] = key.split('/', 5);
  if (after === undefined)
    return root === 'o' && kind === 'PriorityClass' ? cure('PriorityChanged') : undefined;
  switch (root) {
    case 'a':
      if (kind === 'node') return nodeCure(before as NodeAccount | undefined, after as NodeAccount);
      if (kind === 'tenant')
        return tenantCure(namespace, before as TenantAccount | undefined, after as TenantAccount);
      return kind === 'workload' ? cure('WorkloadChanged', namespace) : undefined;
    case 'e':
      return cure('NodeOpened');
    case 'o':
    case 's':
      return objectCure(kind, namespace === '_' ? name : namespace, before, after);
    default:
      return undefined;
  }
}

/** `owner`: the tenant of the object, or the name of one that belongs to the cluster. */
function objectCure(kind: string, owner: string, before: unknown, after: unknown): Cure | undefined {
  switch (kind) {
    case 'Node':
      // Reports of agents change a status all the time; what placement looks at changes seldom.
      return isDeepStrictEqual(lookedAt(before), lookedAt(after)) ? undefined : cure('NodeChanged');
    case 'Tenant':
      return cure('TenantChanged', owner);
    case 'Region':
      return cure('RegionChanged');
    case 'PriorityClass':
      return cure('PriorityChanged');
    case 'Gang':
      return cure('GangChanged', owner);
    default:
      return undefined;
  }
}

/** What of a Node's two records placement depends on. */
function lookedAt(part: unknown): unknown {
  const { metadata, spec, status } = (part ?? {}) as Partial<Node>;
  return [metadata?.labels, spec, status?.agent, status?.devices];
}

function nodeCure(before: NodeAccount | undefined, after: NodeAccount): Cure | undefined {
  if (before === undefined) return cure('NodeFreed');
  if (before.gate.state === 'Closed' && after.gate.state === 'Open') return cure('NodeOpened');
  if (before === after) return undefined;
  const isFreer =
    isLess(after.used, before.used) ||
    isLess(before.allocatable, after.allocatable) ||
    isSmaller(after.claims.devices, before.claims.devices) ||
    isSmaller(after.claims.ports, before.claims.ports) ||
    isSmaller(after.revisions, before.revisions);
  return isFreer ? cure('NodeFreed') : undefined;
}

function tenantCure(
  tenant: string,
  before: TenantAccount | undefined,
  after: TenantAccount,
): Cure | undefined {
  const isCured =
    before === undefined || isLess(after.used, before.used) || !isDeepStrictEqual(before.grant, after.grant);
  return isCured ? cure('TenantFreed', tenant) : undefined;
}

/** Whether there is less of some resource. */
function isLess(a: Amount, b: Amount): boolean {
  if ((a.cpuMilli ?? 0) < (b.cpuMilli ?? 0) || (a.memoryBytes ?? 0) < (b.memoryBytes ?? 0)) return true;
  if ((a.replicas ?? 0) < (b.replicas ?? 0)) return true;
  if (b.devices === undefined) return false;
  for (const [name, count] of eachResource(b)) if ((countOf(a, name) ?? 0) < count) return true;
  return false;
}

/** Whether something of it is gone, or there is less of something. */
function isSmaller(
  after: Readonly<Record<string, string | number>>,
  before: Readonly<Record<string, string | number>>,
): boolean {
  if (after === before) return false;
  for (const name in before) {
    const now = after[name];
    if (now === undefined || (typeof now === 'number' && now < (before[name] as number))) return true;
  }
  return false;
}
