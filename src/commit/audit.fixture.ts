import type { GangStatus } from '../model/kinds/gang.js';
import type { Replica } from '../model/kinds/replica.js';
import type { Reservation } from '../model/kinds/reservation.js';
import type { Charge } from '../model/parts/charge.js';
import { parseQuantity } from '../model/quantity.js';
import type { NodeAccount, SlotRecord, TenantAccount, WorkloadAccount } from '../model/records.js';
import { rulesOfEdge, type Stage } from '../model/stages.js';
import type { Store } from '../store/contract.js';

/**
 * [S7] Adds up every charge that is stored and compares with every account that is stored, at one revision; and what
 * else must be so at every revision. Knows nothing of how the authority posts: it is what the authority is held to.
 */
export async function audit(store: Store): Promise<string[]> {
  const values = await everything(store);
  const expected = new Map<string, number>();
  const add = (name: string, count: number): void => {
    expected.set(name, (expected.get(name) ?? 0) + count);
  };
  const wrong: string[] = [];
  const live: { uid: string; charge: Charge; now: Charge['amounts'] }[] = [];
  const replicas = new Map<string, Replica>();
  for (const [key, value] of values) {
    const [, part, kind, tenant, name] = key.split('/');
    if (part !== 's') continue;
    const stored = values.get(key.replace('/s/', '/o/')) as object | undefined;
    if (kind === 'Replica') {
      if (stored === undefined) wrong.push(`${key} has no object`);
      const replica = { ...stored, ...(value as object) } as Replica;
      replicas.set(`${tenant}/${name}`, replica);
      wrong.push(...wrongMoves(key, replica));
      const { stage, charge } = replica.status ?? {};
      const isOver = stage === 'Succeeded' || stage === 'Failed' || stage === 'Released';
      if (charge !== undefined && !isOver)
        live.push({ uid: replica.metadata.uid, charge, now: charge.amounts });
      if (charge === undefined && replica.status?.binding !== undefined)
        wrong.push(`${key} is bound and not charged`);
    }
    if (kind === 'Reservation') {
      const hold = { ...stored, ...(value as object) } as Reservation;
      const { state, charge, now } = hold.status ?? {};
      if (state === 'Held' && charge !== undefined)
        live.push({ uid: hold.metadata.uid, charge, now: now ?? charge.amounts });
      if (state !== 'Held') continue;
      const owner = values.get(`/s/Replica/${tenant}/${hold.spec.owner.name}`) as Replica | undefined;
      if (owner?.status?.stage !== 'Scheduled' || owner.status.hold !== name)
        wrong.push(`${key} is held for ${hold.spec.owner.name}, which is ${owner?.status?.stage}`);
    }
  }
  const owners = new Map<string, string>();
  for (const { uid, charge, now } of live) {
    const { node, tenant } = charge;
    for (const [resource, count] of counts(now)) add(`node ${node} used ${resource}`, count);
    add(`node ${node} used replicas`, 1);
    add(`node ${node} revision ${tenant}/${charge.revision}`, 1);
    const claims = [
      ...Object.values(charge.devices ?? {}).flatMap((ids) => ids.map((id) => `node ${node} device ${id}`)),
      ...Object.values(charge.ports ?? {}).map((port) => `node ${node} port ${port}`),
    ];
    for (const claim of claims) {
      const owner = owners.get(claim);
      if (owner !== undefined) wrong.push(`[S1] ${claim} is claimed by ${owner} and by ${uid}`);
      owners.set(claim, uid);
      add(`${claim} of ${uid}`, 1);
    }
    const subtotal = charge.subtotal === 'Lost' ? 'lost' : 'used';
    for (const [resource, count] of counts(charge.amounts)) {
      add(`tenant ${tenant} ${subtotal} ${resource}`, count);
      if (charge.rank === 'Borrowed' && subtotal === 'used')
        add(`tenant ${tenant} borrowed ${resource}`, count);
    }
    add(`tenant ${tenant} ${subtotal} replicas`, 1);
    add(`workload ${tenant}/${charge.workload} region ${charge.region}`, 1);
    add(`workload ${tenant}/${charge.workload} zone ${charge.region}/${charge.zone}`, 1);
  }
  for (const [key, value] of values) {
    if (!key.startsWith('/t/')) continue;
    const [, , tenant = '', workload] = key.split('/');
    const slot = value as SlotRecord;
    if (slot.isDisrupted === true) add(`workload ${tenant}/${workload} disrupted`, 1);
    const named = replicas.get(`${tenant}/${slot.replica}`);
    if (named?.metadata.uid !== slot.replicaUid) wrong.push(`${key} names ${slot.replica}, which is gone`);
    if (slot.lost !== undefined && !isAside(replicas.get(`${tenant}/${slot.lost.replica}`)))
      wrong.push(`${key} counts ${slot.lost.replica} as lost`);
  }
  wrong.push(...wrongSlots(replicas), ...wrongGangs(values, replicas));
  const actual = posted(values);
  for (const name of new Set([...expected.keys(), ...actual.keys()])) {
    const [should, is] = [expected.get(name) ?? 0, actual.get(name) ?? 0];
    if (should !== is) wrong.push(`${name} is ${is}, the charges come to ${should}`);
  }
  return wrong;
}

export async function everything(store: Store): Promise<Map<string, unknown>> {
  const values = new Map<string, unknown>();
  const { revision } = await store.read({ from: '/', to: '0' }, { limit: 1 });
  for (let from = '/'; ;) {
    const { entries, more } = await store.read({ from, to: '0' }, { revision });
    for (const { key, value } of entries) values.set(key, JSON.parse(Buffer.from(value).toString()));
    if (!more) return values;
    from = `${entries.at(-1)?.key}\0`;
  }
}

/** Whole thousandths of a core, bytes and devices. */
function* counts({ cpu, memory, devices }: Charge['amounts']): Generator<[string, number]> {
  const up = (value: string | number, per: bigint): number => Number((parseQuantity(value) + per - 1n) / per);
  if (cpu !== undefined) yield ['cpu', up(cpu, 1_000_000n)];
  if (memory !== undefined) yield ['memory', up(memory, 1_000_000_000n)];
  for (const [name, count] of Object.entries(devices ?? {})) yield [`device ${name}`, count];
}

/** Every number that stands in an account. */
function posted(values: ReadonlyMap<string, unknown>): Map<string, number> {
  const actual = new Map<string, number>();
  const amount = (name: string, { cpuMilli, memoryBytes, replicas, devices }: NodeAccount['used']): void => {
    actual.set(`${name} cpu`, cpuMilli ?? 0);
    actual.set(`${name} memory`, memoryBytes ?? 0);
    actual.set(`${name} replicas`, replicas ?? 0);
    for (const [device, count] of Object.entries(devices ?? {}))
      actual.set(`${name} device ${device}`, count);
  };
  for (const [key, value] of values) {
    if (!key.startsWith('/a/')) continue;
    const [, , kind, ...rest] = key.split('/');
    const at = `${kind} ${rest.join('/')}`;
    if (kind === 'node') {
      const { used, claims, revisions } = value as NodeAccount;
      amount(`${at} used`, used);
      for (const [id, uid] of Object.entries(claims.devices)) actual.set(`${at} device ${id} of ${uid}`, 1);
      for (const [port, uid] of Object.entries(claims.ports)) actual.set(`${at} port ${port} of ${uid}`, 1);
      for (const [name, count] of Object.entries(revisions)) actual.set(`${at} revision ${name}`, count);
    } else if (kind === 'tenant') {
      const { used, borrowed, lost } = value as TenantAccount;
      amount(`${at} used`, used);
      amount(`${at} borrowed`, borrowed);
      amount(`${at} lost`, lost);
    } else {
      const { regions, zones, disrupted } = value as WorkloadAccount;
      for (const [name, count] of Object.entries(regions)) actual.set(`${at} region ${name}`, count);
      for (const [name, count] of Object.entries(zones)) actual.set(`${at} zone ${name}`, count);
      actual.set(`${at} disrupted`, disrupted);
    }
  }
  return actual;
}

const isAside = (replica: Replica | undefined): boolean =>
  replica?.status?.stage === 'Unknown' || replica?.status?.stage === 'Releasing';

/** [S6] Each move follows the one before it, along an edge, by an owner of it. */
function wrongMoves(key: string, { status }: Replica): string[] {
  const wrong: string[] = [];
  let at: Stage | 'none' | undefined;
  for (const { from = 'none', to, actor } of status?.transitions ?? []) {
    const kind = actor.slice(0, actor.indexOf(':'));
    if (at !== undefined && at !== from) wrong.push(`${key} moved from ${from}, it was ${at}`);
    if (!rulesOfEdge(from, to).some(({ owners }) => (owners as readonly string[]).includes(kind)))
      wrong.push(`${key} moved from ${from} to ${to} by ${actor}`);
    at = to;
  }
  if (at !== status?.stage) wrong.push(`${key} is ${status?.stage}, moved to ${at}`);
  return wrong;
}

/** [S12] One incarnation at most that has neither ended nor stands aside. */
function wrongSlots(replicas: ReadonlyMap<string, Replica>): string[] {
  const bySlot = new Map<string, string[]>();
  for (const [name, replica] of replicas) {
    const { stage } = replica.status ?? {};
    if (stage === 'Succeeded' || stage === 'Failed' || stage === 'Released' || isAside(replica)) continue;
    const slot = `${name.split('/')[0]}/${replica.spec.workload}/${replica.spec.slot}`;
    bySlot.set(slot, [...(bySlot.get(slot) ?? []), `${name} (${stage})`]);
  }
  return [...bySlot]
    .filter(([, names]) => names.length > 1)
    .map(([slot, names]) => `${slot}: ${names.join()}`);
}

/** A gang that may still be committed counts exactly the holds of its members. */
function wrongGangs(values: ReadonlyMap<string, unknown>, replicas: ReadonlyMap<string, Replica>): string[] {
  const wrong: string[] = [];
  for (const [key, value] of values) {
    const [, part, kind, tenant, name] = key.split('/');
    if (part !== 's' || kind !== 'Gang') continue;
    const { state, holds = 0 } = (value as { status: GangStatus }).status;
    const members = [...replicas].filter(
      ([at, { spec, status }]) =>
        at.startsWith(`${tenant}/`) && spec.gang === name && status?.stage === 'Scheduled',
    );
    if (state !== 'Committed' && members.length !== holds)
      wrong.push(`${key} is ${state} and counts ${holds} holds, ${members.length} members have one`);
  }
  return wrong;
}
