import { addAmounts, amountOf, countOf, eachResource, ownValue, sameAmount } from '../../model/amount.js';
import type { Gang } from '../../model/kinds/gang.js';
import type { Reservation, ReservationStatus } from '../../model/kinds/reservation.js';
import type { Charge } from '../../model/parts/charge.js';
import { objectKey } from '../../model/records.js';
import { isTerminal } from '../../model/stages.js';
import { stateBefore } from './before-state.js';
import { CellView, placeOf } from './cell-view.js';
import type { Commit } from './checker.js';
import { brokenNodeRules } from './node-rules.js';

type State = ReservationStatus['state'];

/**
 * Whether a commit made a hold that was not there before: also in place of one of the same name that is over, since
 * a hold is named after its owner and intent.
 */
export function isNewHold(commit: Commit, tenant: string, name: string): boolean {
  const key = objectKey('Reservation', tenant, name);
  const uidIn = (value: unknown): string | undefined => (value as Reservation | undefined)?.metadata.uid;
  return commit.changes.some((change) => change.key === key && uidIn(change.before) !== uidIn(change.after));
}

const statusIn = (value: unknown): ReservationStatus | undefined =>
  (value as Pick<Reservation, 'status'> | undefined)?.status;

/** What a commit did to holds and to the gangs that count them, against S7. */
export function wrongHolds(commit: Commit, cell: CellView): readonly string[] {
  const before = new CellView(stateBefore(commit, cell.state));
  const gangs = new Map<string, readonly [tenant: string, name: string]>();
  const messages: string[] = [];
  for (const { key, before: last, after } of commit.changes) {
    const place = placeOf(key);
    if (place?.part !== 's') continue;
    const { kind, tenant, name } = place;
    if (kind === 'Reservation') {
      const [was, is] = [statusIn(last), statusIn(after)];
      messages.push(
        ...(isNewHold(commit, tenant, name) && isBoundAtOnce(cell, tenant, name)
          ? []
          : wrongState(key, was?.state, is?.state, isNewHold(commit, tenant, name))),
        ...wrongParts(key, is),
        ...givenUp(before, cell, tenant, name),
      );
      const owner = cell.object('Reservation', tenant, name)?.spec.owner.name ?? '';
      const gang = cell.object('Replica', tenant, owner)?.spec.gang;
      if (gang !== undefined) gangs.set(`${tenant}/${gang}`, [tenant, gang]);
    }
    if (kind !== 'Gang') continue;
    gangs.set(`${tenant}/${name}`, [tenant, name]);
    const wasCommitted = (last as Pick<Gang, 'status'> | undefined)?.status?.state === 'Committed';
    if (!wasCommitted) messages.push(...committedTooEarly(cell, tenant, name));
    const isWaiting = (after as Pick<Gang, 'status'> | undefined)?.status?.state === 'Waiting';
    if (isWaiting && membersOf(cell, tenant ?? '', name).held > 0)
      messages.push(`${key} waits anew; members of it still hold`);
  }
  return [...messages, ...[...gangs.values()].flatMap(([tenant, name]) => wrongCount(cell, tenant, name))];
}

/** A hold of a committed gang goes with its owner, or where its node would not take it: otherwise it goes forward. */
function givenUp(before: CellView, cell: CellView, tenant: string, name: string): readonly string[] {
  const [was, is] = [before, cell].map((one) => one.object('Reservation', tenant, name));
  const isFreed = is?.status?.state === 'Released' || is?.status?.state === 'Expired';
  if (was?.status?.state !== 'Held' || was.metadata.uid !== is?.metadata.uid || !isFreed) return [];
  if (is.spec.intent !== 'Gang') return [];
  // One that awaits what may never end is no place to go forward to.
  if (is.status?.state === 'Expired' && (was.status.awaits ?? []).length > 0) return [];
  const owner = cell.object('Replica', tenant, is.spec.owner.name);
  const { gang = '', workload = '', slot = '', revision = '' } = owner?.spec ?? {};
  if (owner?.status === undefined || isTerminal(owner.status.stage)) return [];
  const { node } = is.spec;
  const goesForward = [before, cell].every(
    (one) =>
      one.object('Gang', tenant, gang)?.status?.state === 'Committed' &&
      one.nodeEpoch(node)?.state === 'Open' &&
      one.object('Node', undefined, node)?.metadata.deletionTimestamp === undefined &&
      brokenNodeRules(one, { tenant, workload, slot, revision, node }).length === 0 &&
      isOffered(one, node, was.status?.charge),
  );
  return goesForward
    ? [
        `/s/Reservation/${tenant}/${name} was given up; gang ${gang} is committed, and ${node} takes its member`,
      ]
    : [];
}

/** A node may come back with less than it has promised: nothing new begins there then. */
function isOffered(cell: CellView, node: string, charge: Charge | undefined): boolean {
  const account = cell.nodeAccount(node);
  if (account === undefined || charge === undefined) return false;
  const { used, allocatable, devices } = account;
  let isOver = false;
  for (const [resource] of eachResource(amountOf(charge.amounts)))
    if ((countOf(used, resource) ?? 0) > (countOf(allocatable, resource) ?? 0)) isOver = true;
  const isGone = Object.entries(charge.devices ?? {}).some(([name, ids]) =>
    ids.some((id) => !(ownValue(devices, name) ?? []).includes(id)),
  );
  return !isOver && !isGone;
}

/** Every gang that reserves, from scratch. */
export function wrongGangs(cell: CellView): readonly string[] {
  return [...cell.objects('Gang')].flatMap(({ metadata }) =>
    wrongCount(cell, metadata.namespace ?? '', metadata.name),
  );
}

/** Operations share transactions: a hold may have been made and become a binding in the same. Its owner says so. */
function isBoundAtOnce(cell: CellView, tenant: string, name: string): boolean {
  const { spec, status } = cell.object('Reservation', tenant, name) ?? {};
  if (status?.state !== 'Bound') return false;
  const [held, bound] =
    cell.object('Replica', tenant, spec?.owner.name ?? '')?.status?.transitions?.slice(-2) ?? [];
  return held?.to === 'Scheduled' && held.evidence?.['hold'] === name && bound?.to === 'Bound';
}

function wrongState(
  key: string,
  was: State | undefined,
  is: State | undefined,
  isNew: boolean,
): readonly string[] {
  if (was === 'Held' && (is === undefined || isNew)) return [`${key} was deleted while it was Held`];
  if (is === undefined) return [];
  // Operations share transactions: one may have been made and given up in the same.
  if (was === undefined || isNew)
    return is === 'Held' || is === 'Released' ? [] : [`${key} began as ${is}, not Held`];
  return was === 'Held' || was === is ? [] : [`${key} was ${was}, for good, and is now ${is}`];
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

/** How many members of a gang hold capacity for it, and how many are bound. */
function membersOf(cell: CellView, tenant: string, gang: string): { held: number; bound: number } {
  const members = { held: 0, bound: 0 };
  for (const { spec, status } of cell.objects('Reservation', tenant))
    if (
      status?.state === 'Held' &&
      spec.intent === 'Gang' &&
      cell.object('Replica', tenant, spec.owner.name)?.spec.gang === gang
    )
      members.held += 1;
  for (const { spec, status } of cell.objects('Replica', tenant))
    if (spec.gang === gang && status?.binding !== undefined && !isTerminal(status.stage)) members.bound += 1;
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
