import { ownValue } from '../model/amount.js';
import type { Node } from '../model/kinds/node.js';
import type { WorkloadRevision } from '../model/kinds/workload-revision.js';
import {
  apartRules,
  isAboutOwnWorkload,
  isRequired,
  mustBeApartOnNode,
  repellingTaint,
  shownTaint,
  spreadCounts,
  zoneKey,
  zonesAllowed,
} from '../model/placement-rules.js';
import { type NodeAccount, recoveryPoolLabel } from '../model/records.js';
import type { Context } from './context.js';
import { reject, type Rejection } from './decision.js';
import type { Draft } from './draft.js';
import {
  statusOf,
  type Stored,
  storedPriorityClass,
  storedRegion,
  storedRevision,
  storedTenant,
  storedWorkload,
  workloadAccount,
} from './stored.js';

type StoredNode = Stored<Node>;
type StoredRevision = Stored<WorkloadRevision>;

export interface Candidate {
  readonly tenant: string;
  readonly revision: StoredRevision;
  readonly node: StoredNode;
  readonly account: NodeAccount;
}

/**
 * [S4] The hard rules of a placement, on the node, tenant and region as they are now. Each reads what it relies
 * on from the draft, so that what it allowed is guarded.
 */
export function checkPlacementRules(
  context: Context,
  draft: Draft,
  candidate: Candidate,
): Rejection | undefined {
  return (
    checkNode(context, candidate) ??
    checkWhere(context, draft, candidate) ??
    checkTaints(context, candidate) ??
    checkPool(context, draft, candidate) ??
    checkFence(context, draft, candidate)
  );
}

function checkNode({ checks }: Context, { node, account, tenant }: Candidate): Rejection | undefined {
  const { name } = node.metadata;
  if (account.gate.state === 'Closed' && checks.has('bind.gate'))
    return reject(
      'GateClosed',
      `node ${name} takes nothing new: ${account.gate.reason ?? 'its gate is closed'}`,
    );
  if (node.spec.unschedulable === true && checks.has('bind.unschedulable'))
    return reject('Tainted', `node ${name} is unschedulable`);
  if (node.metadata.deletionTimestamp !== undefined && checks.has('bind.deleted'))
    return reject('Tainted', `node ${name} is being deleted`);
  if (node.spec.drain !== undefined && checks.has('bind.drain'))
    return reject('Tainted', `node ${name} is draining`);
  const tenants = node.spec.tenants ?? [];
  if (tenants.length > 0 && !tenants.includes(tenant) && checks.has('bind.tenancy'))
    return reject('TenancyNotAllowed', `node ${name} is for ${tenants.join(', ')}, not for ${tenant}`);
  return undefined;
}

function checkWhere(
  context: Context,
  draft: Draft,
  { tenant, revision, node }: Candidate,
): Rejection | undefined {
  const { checks } = context;
  const { regions = [], zones = [], nodeSelector = {} } = revision.spec.placement ?? {};
  const { region = 'local', zone = 'local' } = node.spec;
  const { name } = node.metadata;
  if (regions.length > 0 && !regions.includes(region) && checks.has('bind.region'))
    return reject('RegionNotAllowed', `node ${name} is in region ${region}; allowed: ${regions.join(', ')}`);
  if (zones.length > 0 && !zones.includes(zone) && checks.has('bind.zone'))
    return reject('ZoneNotAllowed', `node ${name} is in zone ${zone}; allowed: ${zones.join(', ')}`);
  const owner = storedTenant(draft, undefined, tenant);
  // Nobody says any more where its work may be.
  if (owner === undefined && checks.has('bind.tenant'))
    return reject('ReplicaChanged', `tenant ${tenant} is gone`);
  const residency = owner?.spec.residency ?? [];
  if (residency.length > 0 && checks.has('bind.residency')) {
    const jurisdiction = storedRegion(draft, undefined, region)?.spec.jurisdiction;
    if (jurisdiction === undefined || !residency.includes(jurisdiction))
      return reject(
        'ResidencyNotAllowed',
        `region ${region} is under ${jurisdiction ?? 'no known law'}; tenant ${tenant} must stay in ${residency.join(', ')}`,
      );
  }
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(nodeSelector))
    if (ownValue(labels, key) !== value && checks.has('bind.selector'))
      return reject(
        'SelectorMismatch',
        `node ${name} has ${key}=${ownValue(labels, key) ?? '(none)'}, not ${value}`,
      );
  return undefined;
}

/** Whether the tenant may be in a region. */
function isResidentIn(draft: Draft, tenant: string, region: string): boolean {
  const residency = storedTenant(draft, undefined, tenant)?.spec.residency ?? [];
  if (residency.length === 0) return true;
  const jurisdiction = storedRegion(draft, undefined, region)?.spec.jurisdiction;
  return jurisdiction !== undefined && residency.includes(jurisdiction);
}

function checkTaints({ checks }: Context, { revision, node }: Candidate): Rejection | undefined {
  const taint = repellingTaint(node.spec.taints, revision.spec.placement?.tolerations ?? []);
  return taint !== undefined && checks.has('bind.taints')
    ? reject('Tainted', `node ${node.metadata.name} has the taint ${shownTaint(taint)}`)
    : undefined;
}

/** [S9] A recovery pool is for the classes that may use it. */
function checkPool(context: Context, draft: Draft, { revision, node }: Candidate): Rejection | undefined {
  if (node.metadata.labels?.[recoveryPoolLabel] !== 'true' || !context.checks.has('bind.pool'))
    return undefined;
  const className = revision.spec.priorityClassName ?? 'default';
  const priorityClass = storedPriorityClass(draft, undefined, className);
  return priorityClass?.spec.recoveryPools === true
    ? undefined
    : reject(
        'PoolReserved',
        `node ${node.metadata.name} is kept for recovery; class ${className} may not use it`,
      );
}

/** [S5] Whether its agent is told to stop it by itself when renewals fail: only then an expired fence proves its end. */
export const reliesOnFence = (
  draft: Draft,
  { tenant, revision: { spec } }: Pick<Candidate, 'tenant' | 'revision'>,
): boolean =>
  spec.template.execution === 'AtMostOne' &&
  storedWorkload(draft, tenant, spec.workload)?.spec.onNodeLost?.action === 'Fence';

/** [S5] Work that relies on its fence goes only where it is kept. */
function checkFence(context: Context, draft: Draft, candidate: Candidate): Rejection | undefined {
  const { revision, node } = candidate;
  const { name } = node.metadata;
  if (!context.checks.has('bind.fence') || !reliesOnFence(draft, candidate)) return undefined;
  return statusOf<Node>(draft, 'Node', undefined, name)?.agent?.fencing === 'Unsupported'
    ? reject(
        'FenceUnsupported',
        `node ${name} cannot keep the fence that ${revision.spec.workload} relies on`,
      )
    : undefined;
}

/** [S4] What must be kept apart from, and spread among, the replicas that are charged already. */
export function checkNeighbours(context: Context, draft: Draft, candidate: Candidate): Rejection | undefined {
  return checkApart(context, draft, candidate) ?? checkSpread(context, draft, candidate);
}

function checkApart(context: Context, draft: Draft, candidate: Candidate): Rejection | undefined {
  const { tenant, revision, node, account } = candidate;
  for (const key of Object.keys(account.revisions)) {
    // Tenants do not see each other's labels, so rules never reach across them.
    if (!key.startsWith(`${tenant}/`)) continue;
    const other = storedRevision(draft, tenant, key.slice(tenant.length + 1));
    if (other === undefined) continue;
    const whose = mustBeApartOnNode(revision, other);
    if (
      (whose === 'mine' && context.checks.has('bind.antiAffinity')) ||
      (whose === 'theirs' && context.checks.has('bind.antiAffinity.others'))
    )
      return reject(
        'AntiAffinity',
        `node ${node.metadata.name} has replicas of ${other.spec.workload}, to be kept apart from`,
      );
  }
  const { region = 'local', zone = 'local' } = node.spec;
  for (const rule of apartRules(revision)) {
    // Across workloads only nodes are checked here; zones and regions are best effort there.
    if (rule.topology === 'Node' || !isAboutOwnWorkload(rule, revision)) continue;
    const counts = workloadAccount(draft, tenant, revision.spec.workload);
    const there =
      rule.topology === 'Zone'
        ? ownValue(counts.zones, `${region}/${zone}`)
        : ownValue(counts.regions, region);
    if ((there ?? 0) > 0 && context.checks.has('bind.antiAffinity'))
      return reject(
        'AntiAffinity',
        `${rule.topology === 'Zone' ? `zone ${region}/${zone}` : `region ${region}`} has replicas of ${revision.spec.workload} already`,
      );
  }
  return undefined;
}

function checkSpread(context: Context, draft: Draft, candidate: Candidate): Rejection | undefined {
  const { tenant, revision, node, account } = candidate;
  const { region = 'local', zone = 'local' } = node.spec;
  const zonesOf = (name: string): readonly string[] => storedRegion(draft, undefined, name)?.spec.zones ?? [];
  const isResident = (name: string): boolean => isResidentIn(draft, tenant, name);
  const regions = { zonesOf, isResident };
  for (const { topology, maxSkew = 1, mode } of revision.spec.placement?.spread ?? []) {
    if (!isRequired({ mode: mode ?? 'Required' }) || !context.checks.has('bind.spread')) continue;
    if (topology === 'Node') {
      const here = countOnNode(draft, tenant, revision, account);
      if (here + 1 > maxSkew)
        return reject(
          'SpreadViolated',
          `node ${node.metadata.name} has ${here} replicas of ${revision.spec.workload}; at most ${maxSkew} per node`,
        );
      continue;
    }
    const counts = workloadAccount(draft, tenant, revision.spec.workload);
    const { domain, here, fewest } = spreadCounts(
      revision.spec,
      topology,
      { region, zoneKey: zoneKey({ region, zone }) },
      topology === 'Zone' ? counts.zones : counts.regions,
      { zonesBeside: (beside) => zonesAllowed(revision.spec, beside, regions), isResident },
    );
    if (here + 1 - fewest > maxSkew)
      return reject(
        'SpreadViolated',
        `${domain} would have ${here + 1} replicas of ${revision.spec.workload} and another ${fewest}; at most ${maxSkew} more`,
      );
  }
  return undefined;
}

function countOnNode(draft: Draft, tenant: string, { spec }: StoredRevision, account: NodeAccount): number {
  let count = 0;
  for (const [key, more] of Object.entries(account.revisions))
    if (
      key.startsWith(`${tenant}/`) &&
      storedRevision(draft, tenant, key.slice(tenant.length + 1))?.spec.workload === spec.workload
    )
      count += more;
  return count;
}
