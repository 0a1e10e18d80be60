import { addAmounts, amountOf, sameAmount } from '../../model/amount.js';
import type { Gang } from '../../model/kinds/gang.js';
import type { Reservation, ReservationStatus } from '../../model/kinds/reservation.js';
import { objectKey, statusKey } from '../../model/records.js';
import { isTerminal } from '../../model/stages.js';
import { type CellView, placeOf } from './cell-view.js';
import type { Commit } from './checker.js';

type State = ReservationStatus['state'];

const statusIn = (value: unknown): ReservationStatus | undefined =>
  (value as Pick<Reservation, 'status'> | undefined)?.status;

/** What a commit did to holds and to the gangs that count them, against S7. */
export function wrongHolds(commit: Commit, cell: CellView): readonly string[] {
  const gangs = new Map<string, readonly [tenant: string, name: string]>();
  const messages: string[] = [];
  for (const { key, before, after } of commit.changes) {
    const place = placeOf(key);
    if (place?.part !== 's') continue;
    const { kind, tenant, name } = place;
    if (kind === 'Reservation') {
      const [was, is] = [statusIn(before), statusIn(after)];
      messages.push(...wrongState(key, isAnother(commit, tenant, name) ? undefined : was?.state, is?.state));
      messages.push(...wrongParts(key, is));
      const owner = cell.object('Reservation', tenant, name)?.spec.owner.name ?? '';
      const gang = cell.object('Replica', tenant, owner)?.spec.gang;
      if (gang !== undefined) gangs.set(`${tenant}/${gang}`, [tenant, gang]);
    }
    if (kind !== 'Gang') continue;
    gangs.set(`${tenant}/${name}`, [tenant, name]);
    const wasCommitted = (before as Pick<Gang, 'status'> | undefined)?.status?.state === 'Committed';
    if (!wasCommitted) messages.push(...committedTooEarly(cell, tenant, name));
  }
  return [...messages, ...[...gangs.values()].flatMap(([tenant, name]) => wrongCount(cell, tenant, name))];
}

/** A new hold for the same owner and intent took the name of one that had ended: another uid, another life. */
export function isAnother(commit: Commit, tenant: string | undefined, name: string): boolean {
  const change = commit.changes.find(({ key }) => key === objectKey('Reservation', tenant, name));
  const [was, is] = [change?.before as Reservation | undefined, change?.after as Reservation | undefined];
  return (
    was !== undefined &&
    is !== undefined &&
    was.metadata.uid !== is.metadata.uid &&
    hasEnded(commit, tenant, name)
  );
}

function hasEnded(commit: Commit, tenant: string | undefined, name: string): boolean {
  const change = commit.changes.find(({ key }) => key === statusKey('Reservation', tenant, name));
  return statusIn(change?.before)?.state !== 'Held';
}

/** Every gang that reserves, from scratch. */
export function wrongGangs(cell: CellView): readonly string[] {
  return [...cell.objects('Gang')].flatMap(({ metadata }) =>
    wrongCount(cell, metadata.namespace ?? '', metadata.name),
  );
}

function wrongState(key: string, was: State | undefined, is: State | undefined): readonly string[] {
  if (was === is) return [];
  if (was === undefined) return is === 'Held' ? [] : [`${key} began as ${is}, not Held`];
  if (was === 'Held') return is === undefined ? [`${key} was deleted while it was Held`] : [];
  return is === undefined ? [] : [`${key} was ${was}, for good, and is now ${is}`];
}

/** What a preempting hold has now and what it awaits are together what it is charged with. */
function wrongParts(key: string, status: ReservationStatus | undefined): readonly string[] {
  const { awaits = [], now = {}, charge, state } = status ?? {};
  if (state !== 'Held' || awaits.length === 0 || charge === undefined) return [];
  let sum = amountOf(now);
  for (const { amounts } of awaits) sum = addAmounts(sum, amountOf(amounts));
  return sameAmount(sum, amountOf(charge.amounts))
    ? []
    : [`${key}: what it has now and what it awaits are not what it is charged with`];
}

/** How many members of a gang hold capacity, and how many are bound. */
function membersOf(cell: CellView, tenant: string, gang: string): { held: number; bound: number } {
  const members = { held: 0, bound: 0 };
  for (const { spec, status } of cell.objects('Replica', tenant)) {
    if (spec.gang !== gang || status === undefined || isTerminal(status.stage)) continue;
    if (status.binding !== undefined) members.bound += 1;
    else if (
      status.hold !== undefined &&
      cell.object('Reservation', tenant, status.hold)?.status?.state === 'Held'
    )
      members.held += 1;
  }
  return members;
}

/** A gang counts the holds of its members while it reserves. */
function wrongCount(cell: CellView, tenant: string, name: string): readonly string[] {
  const status = cell.object('Gang', tenant, name)?.status;
  if (status?.state !== 'Reserving') return [];
  const { holds = 0 } = status;
  const { held } = membersOf(cell, tenant, name);
  return holds === held ? [] : [`/s/Gang/${tenant}/${name} counts ${holds} holds; its members have ${held}`];
}

/** A gang is committed only once enough members have a place. */
function committedTooEarly(cell: CellView, tenant: string, name: string): readonly string[] {
  const gang = cell.object('Gang', tenant, name);
  if (gang?.status?.state !== 'Committed') return [];
  const { held, bound } = membersOf(cell, tenant, name);
  return held + bound >= gang.spec.minAvailable
    ? []
    : [`/s/Gang/${tenant}/${name} was committed with ${held + bound} places of ${gang.spec.minAvailable}`];
}
