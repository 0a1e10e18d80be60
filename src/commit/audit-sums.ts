import { addAmounts, type Amount, amountsOf, noAmount, sameAmount } from '../model/amount.js';
import type { Charge } from '../model/parts/charge.js';
import { nodeAccountKey, tenantAccountKey, workloadAccountKey } from '../model/records.js';
import { isTerminal } from '../model/stages.js';
import { chargedAmount } from './accounts.js';
import type { AuditRecords } from './audit-records.js';
import type { Difference } from './difference.js';
import { carriedByNode } from './replica-moves.js';

/** A charge that counts: of a replica that has not ended, or of a hold that is Held. */
interface LiveCharge {
  readonly key: string;
  readonly uid: string;
  readonly charge: Charge;
  /** What its node carries of it. */
  readonly carried: Amount;
  readonly awaits: readonly string[];
}

type Counts = Record<string, number>;
interface NodeSum {
  used: Amount;
  readonly claims: Map<string, LiveCharge>;
  readonly revisions: Counts;
}
interface Sums {
  readonly nodes: Map<string, NodeSum>;
  readonly tenants: Map<string, { used: Amount; borrowed: Amount; lost: Amount }>;
  readonly workloads: Map<string, { regions: Counts; zones: Counts; disrupted: number }>;
}

/** [S1] [S7] Adds up every charge that counts and compares with the accounts, and with who claims what. */
export function* wrongSums(records: AuditRecords): Generator<Difference> {
  const charges = [...liveCharges(records)];
  const byUid = new Map(charges.map((live) => [live.uid, live]));
  const sums: Sums = { nodes: new Map(), tenants: new Map(), workloads: new Map() };
  for (const live of charges) {
    yield* claim(sums, live, byUid);
    addUp(sums, live);
  }
  for (const [at, { isDisrupted }] of records.slots)
    if (isDisrupted === true) ofWorkload(sums, at.split('/').slice(0, 2).join('/')).disrupted += 1;

  for (const node of new Set([...records.nodes.keys(), ...sums.nodes.keys()])) {
    const account = records.nodes.get(node);
    const sum = sums.nodes.get(node);
    const key = nodeAccountKey(node);
    yield* otherAmount(key, 'used', account?.used, sum?.used);
    yield* otherCounts(key, 'revisions', account?.revisions, sum?.revisions);
    yield* otherClaims(key, account?.claims, sum?.claims ?? new Map<string, LiveCharge>());
  }
  for (const tenant of new Set([...records.tenants.keys(), ...sums.tenants.keys()])) {
    const account = records.tenants.get(tenant);
    const sum = sums.tenants.get(tenant);
    const key = tenantAccountKey(tenant);
    yield* otherAmount(key, 'used', account?.used, sum?.used);
    yield* otherAmount(key, 'borrowed', account?.borrowed, sum?.borrowed);
    yield* otherAmount(key, 'lost', account?.lost, sum?.lost);
  }
  for (const name of new Set([...records.workloads.keys(), ...sums.workloads.keys()])) {
    const account = records.workloads.get(name);
    const sum = sums.workloads.get(name);
    const [tenant = '', workload = ''] = name.split('/');
    const key = workloadAccountKey(tenant, workload);
    yield* otherCounts(key, 'regions', account?.regions, sum?.regions);
    yield* otherCounts(key, 'zones', account?.zones, sum?.zones);
    const disrupted = [account?.disrupted ?? 0, sum?.disrupted ?? 0] as const;
    yield* otherCounts(key, 'slots', { disrupted: disrupted[0] }, { disrupted: disrupted[1] });
  }
}

function* liveCharges(records: AuditRecords): Generator<LiveCharge> {
  for (const { key, stored, status } of records.replicas.values())
    if (stored !== undefined && status?.charge !== undefined && !isTerminal(status.stage)) {
      const { charge } = status;
      yield { key, uid: stored.metadata.uid, charge, carried: chargedAmount(charge), awaits: [] };
    }
  for (const { key, stored, status } of records.holds.values())
    if (stored !== undefined && status?.charge !== undefined && status.state === 'Held')
      yield {
        ...{ key, uid: stored.metadata.uid, charge: status.charge, carried: carriedByNode(status) },
        awaits: (status.awaits ?? []).map(({ uid }) => uid),
      };
}

const claimedBy = ({ charge }: LiveCharge): readonly string[] => [
  ...Object.values(charge.devices ?? {}).flatMap((ids) => ids.map((id) => `device ${id}`)),
  ...Object.values(charge.ports ?? {}).map((port) => `port ${port}`),
];

/** What a hold awaits from its victims is theirs until they are released. */
function* claim(sums: Sums, live: LiveCharge, byUid: ReadonlyMap<string, LiveCharge>): Generator<Difference> {
  const { claims } = ofNode(sums, live.charge.node);
  const victims = live.awaits.map((uid) => byUid.get(uid)).filter((victim) => victim !== undefined);
  const awaited = new Set(victims.flatMap(claimedBy));
  for (const what of claimedBy(live)) {
    if (awaited.has(what)) continue;
    const other = claims.get(what);
    if (other !== undefined)
      yield {
        rule: 'S1',
        keys: [other.key, live.key],
        found: `both are charged with ${what} of node ${live.charge.node}`,
        expected: 'one owner',
      };
    claims.set(what, live);
  }
}

function addUp(sums: Sums, { charge, carried }: LiveCharge): void {
  const node = ofNode(sums, charge.node);
  node.used = addAmounts(node.used, carried);
  count(node.revisions, `${charge.tenant}/${charge.revision ?? ''}`);
  const tenant = sums.tenants.get(charge.tenant) ?? { used: noAmount, borrowed: noAmount, lost: noAmount };
  sums.tenants.set(charge.tenant, tenant);
  const amount = chargedAmount(charge);
  if (charge.subtotal === 'Lost') tenant.lost = addAmounts(tenant.lost, amount);
  else {
    tenant.used = addAmounts(tenant.used, amount);
    if (charge.rank === 'Borrowed') tenant.borrowed = addAmounts(tenant.borrowed, withoutReplicas(amount));
  }
  const { workload, region, zone } = charge;
  if (workload === undefined || region === undefined || zone === undefined) return;
  const account = ofWorkload(sums, `${charge.tenant}/${workload}`);
  count(account.regions, region);
  count(account.zones, `${region}/${zone}`);
}

function ofNode(sums: Sums, name: string): NodeSum {
  const node: NodeSum = sums.nodes.get(name) ?? { used: noAmount, claims: new Map(), revisions: {} };
  sums.nodes.set(name, node);
  return node;
}

function ofWorkload(sums: Sums, name: string) {
  const workload = sums.workloads.get(name) ?? { regions: {}, zones: {}, disrupted: 0 };
  sums.workloads.set(name, workload);
  return workload;
}

const count = (counts: Counts, name: string): void => {
  counts[name] = (counts[name] ?? 0) + 1;
};

function withoutReplicas(amount: Amount): Amount {
  const { replicas: _, ...rest } = amount;
  return rest;
}

const shown = (amount: Amount): string => JSON.stringify(amountsOf(amount));

function* otherAmount(
  key: string,
  field: string,
  account: Amount = noAmount,
  sum: Amount = noAmount,
): Generator<Difference> {
  if (sameAmount(account, sum)) return;
  yield { rule: 'S7', keys: [key], found: `${field} ${shown(account)}`, expected: `${field} ${shown(sum)}` };
}

function* otherCounts(
  key: string,
  field: string,
  account: Readonly<Counts> = {},
  sum: Readonly<Counts> = {},
): Generator<Difference> {
  for (const name of new Set([...Object.keys(account), ...Object.keys(sum)])) {
    const [found, expected] = [account[name] ?? 0, sum[name] ?? 0];
    if (found !== expected)
      yield {
        ...{ rule: 'S7', keys: [key] },
        ...{ found: `${field} ${name} ${found}`, expected: `${field} ${name} ${expected}` },
      };
  }
}

function* otherClaims(
  key: string,
  claims: { devices: Readonly<Record<string, string>>; ports: Readonly<Record<string, string>> } | undefined,
  owners: ReadonlyMap<string, LiveCharge>,
): Generator<Difference> {
  const found = new Map<string, string>([
    ...Object.entries(claims?.devices ?? {}).map(([id, uid]) => [`device ${id}`, uid] as const),
    ...Object.entries(claims?.ports ?? {}).map(([port, uid]) => [`port ${port}`, uid] as const),
  ]);
  for (const what of new Set([...found.keys(), ...owners.keys()])) {
    const owner = owners.get(what);
    if (found.get(what) === owner?.uid) continue;
    yield {
      rule: 'S1',
      keys: owner === undefined ? [key] : [key, owner.key],
      found: `${what} claimed by ${found.get(what) ?? 'nobody'}`,
      expected: `${what} claimed by ${owner?.uid ?? 'nobody'}`,
    };
  }
}
