import { addAmounts, type Amount, amountOf } from '../../model/amount.js';
import type { Charge } from '../../model/parts/charge.js';
import { isTerminal } from '../../model/stages.js';
import { CellView, placeOf } from './cell-view.js';
import type { CellState } from './checker.js';

/** A charge that counts: of a replica that has not ended, or of a hold that is Held. */
export interface LiveCharge {
  /** The key of the status that carries it. */
  readonly key: string;
  readonly uid: string;
  readonly charge: Charge;
  /** What it uses, itself as one replica included. */
  readonly full: Amount;
  /** What of that is posted to its node: less than `full` while a preempting hold awaits its victims. */
  readonly posted: Amount;
  /** The uids of the replicas that a preempting hold awaits. */
  readonly awaits: readonly string[];
  /** The ports, by name, that it gets when those end. */
  readonly awaitedPorts: Readonly<Record<string, number>>;
}

const oneReplica: Amount = { replicas: 1 };

function replicaCharge(cell: CellView, tenant: string, name: string, key: string): LiveCharge | undefined {
  const replica = cell.object('Replica', tenant, name);
  const charge = replica?.status?.charge;
  if (replica?.status === undefined || charge === undefined || isTerminal(replica.status.stage))
    return undefined;
  const full = addAmounts(amountOf(charge.amounts), oneReplica);
  return { key, uid: replica.metadata.uid, charge, full, posted: full, awaits: [], awaitedPorts: {} };
}

function holdCharge(cell: CellView, tenant: string, name: string, key: string): LiveCharge | undefined {
  const hold = cell.object('Reservation', tenant, name);
  const charge = hold?.status?.charge;
  if (hold?.status === undefined || charge === undefined || hold.status.state !== 'Held') return undefined;
  const full = addAmounts(amountOf(charge.amounts), oneReplica);
  const awaits = (hold.status.awaits ?? []).map(({ uid }) => uid);
  const posted = awaits.length === 0 ? full : addAmounts(amountOf(hold.status.now ?? {}), oneReplica);
  const awaitedPorts: Readonly<Record<string, number>> = Object.assign(
    {},
    ...(hold.status.awaits ?? []).map(({ ports }) => ports),
  );
  return { key, uid: hold.metadata.uid, charge, full, posted, awaits, awaitedPorts };
}

/** The charge that counts of what stands under /KIND/TENANT/NAME, if there is one. */
export function liveCharge(
  cell: CellView,
  kind: string,
  tenant: string,
  name: string,
): LiveCharge | undefined {
  const key = `/s/${kind}/${tenant}/${name}`;
  if (kind === 'Replica') return replicaCharge(cell, tenant, name, key);
  return kind === 'Reservation' ? holdCharge(cell, tenant, name, key) : undefined;
}

/** Every charge that counts, from scratch. */
export function* liveCharges(state: CellState): Generator<LiveCharge> {
  const cell = new CellView(state);
  for (const kind of ['Replica', 'Reservation'])
    for (const [key] of state.under(`/s/${kind}/`)) {
      const place = placeOf(key);
      const live = place && liveCharge(cell, kind, place.tenant, place.name);
      if (live !== undefined) yield live;
    }
}
