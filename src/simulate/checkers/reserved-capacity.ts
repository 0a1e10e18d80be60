import { countOf, eachResource } from '../../model/amount.js';
import type { Reservation } from '../../model/kinds/reservation.js';
import type { Charge } from '../../model/parts/charge.js';
import { statusKey } from '../../model/records.js';
import { isTerminal } from '../../model/stages.js';
import { stateBefore } from './before-state.js';
import { CellView, placeOf } from './cell-view.js';
import { ChargeBook } from './charge-book.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';
import { isNewHold } from './holds.js';
import { mayUsePool } from './node-rules.js';
import { type ReplicaChange, replicaChanges } from './transitions.js';

/**
 * [S9] Capacity that is held is used by the hold's owner alone: nobody else is bound into it, what a victim gives
 * up goes to the hold that awaits it, and a hold takes only from what ranks below it. A node that is kept for
 * recovery takes only work whose class may use it.
 */
export class ReservedCapacity implements SafetyChecker {
  readonly rule = 'S9';
  checked = 0;
  readonly #book = new ChargeBook();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    this.#book.apply(commit, state);
    const after = new CellView(state);
    const before = new CellView(stateBefore(commit, state));
    const bound = replicaChanges(commit).filter(
      (change) => change.before?.binding === undefined && change.after?.binding !== undefined,
    );
    const holds = commit.changes
      .map(({ key }) => placeOf(key))
      .filter((place) => place?.part === 's' && place.kind === 'Reservation')
      .flatMap((place) => (place === undefined ? [] : [{ tenant: place.tenant, name: place.name }]));
    const ended = replicaChanges(commit).filter(
      (change) => change.after === undefined || isTerminal(change.after.stage),
    );
    this.checked += bound.length + holds.length;
    return [
      ...bound.flatMap((change) => [
        ...this.#intoHeld(after, change),
        ...wrongHold(before, after, change),
        ...wrongPool(after, change),
      ]),
      ...holds.flatMap(({ tenant, name }) => [
        ...boundWithoutOwner(before, after, tenant, name),
        ...wrongVictims(commit, after, tenant, name),
      ]),
      ...(ended.length === 0 && holds.length === 0 ? [] : this.#forsaken(after, commit)),
    ].map((message) => ({ rule: this.rule, revision: state.revision, message }));
  }

  whole(state: CellState): readonly Violation[] {
    const cell = new CellView(state);
    return [...cell.objects('Reservation')]
      .flatMap((hold) => awaitsEnded(cell, hold))
      .map((message) => ({ rule: this.rule, revision: state.revision, message }));
  }

  /** On a node with holds, use with all that is held must not pass what the node offers in anything that was added. */
  #intoHeld(cell: CellView, { key, after }: ReplicaChange): readonly string[] {
    const node = after?.binding?.node ?? '';
    const holds = [...this.#book.chargesOnNode(node)].filter((live) =>
      live.key.startsWith('/s/Reservation/'),
    );
    const own = this.#book.charge(key);
    const allocatable = cell.nodeAccount(node)?.allocatable;
    if (holds.length === 0 || own === undefined || allocatable === undefined) return [];
    const used = this.#book.onNode(node);
    return [...eachResource(own.posted)]
      .filter(([resource, count]) => {
        const most = countOf(allocatable, resource) ?? (resource === 'replicas' ? Infinity : 0);
        const held = holds.some((hold) => (countOf(hold.posted, resource) ?? 0) > 0);
        return count > 0 && held && (countOf(used, resource) ?? 0) > most;
      })
      .map(
        ([resource]) =>
          `${key} was bound to ${node} into ${resource} that is held by ${holds.map((hold) => hold.key).join(', ')}`,
      );
  }

  /** Holds on the nodes of what this commit ended. */
  #forsaken(cell: CellView, commit: Commit): readonly string[] {
    const nodes = new Set<string>();
    for (const { before, after } of replicaChanges(commit))
      for (const status of [before, after]) if (status?.charge !== undefined) nodes.add(status.charge.node);
    for (const { key } of commit.changes) {
      const live = this.#book.charge(key);
      if (live !== undefined) nodes.add(live.charge.node);
    }
    return [...nodes].flatMap((node) =>
      [...this.#book.chargesOnNode(node)].flatMap(({ key }) => {
        const place = placeOf(key);
        const hold =
          place?.kind === 'Reservation' ? cell.object('Reservation', place.tenant, place.name) : undefined;
        return hold === undefined ? [] : awaitsEnded(cell, hold);
      }),
    );
  }
}

/** Who is bound through a hold is its owner, on its node, and uses it up. */
function wrongHold(before: CellView, after: CellView, change: ReplicaChange): readonly string[] {
  const { tenant, name, key } = change;
  const holdName = change.before?.hold;
  const uid = after.object('Replica', tenant, name)?.metadata.uid;
  if (holdName === undefined || change.before?.stage !== 'Scheduled') return [];
  const at = statusKey('Reservation', tenant, holdName);
  const was = before.object('Reservation', tenant, holdName);
  const is = after.object('Reservation', tenant, holdName)?.status?.state;
  if (was?.status?.state !== 'Held')
    return [`${key} was bound through ${at}, which was ${was?.status?.state ?? 'not there'}`];
  const wrong: string[] = [];
  const { owner, node } = was.spec;
  const boundTo = change.after?.binding?.node;
  if (owner.uid !== uid)
    wrong.push(`${key} (${uid}) was bound through ${at}, which is held for ${owner.uid}`);
  if (node !== boundTo) wrong.push(`${key} was bound to ${boundTo} through ${at}, which is held on ${node}`);
  if (is !== 'Bound') wrong.push(`${key} was bound through ${at}, which is ${is ?? 'gone'} after it`);
  return wrong;
}

/** A hold becomes Bound only by its owner's binding on its node. */
function boundWithoutOwner(
  before: CellView,
  after: CellView,
  tenant: string,
  name: string,
): readonly string[] {
  const hold = after.object('Reservation', tenant, name);
  const was = before.object('Reservation', tenant, name)?.status?.state;
  if (hold?.status?.state !== 'Bound' || was === 'Bound') return [];
  const { owner, node } = hold.spec;
  const replica = after.object('Replica', tenant, owner.name);
  const isOwners = replica?.metadata.uid === owner.uid && replica.status?.binding?.node === node;
  return isOwners
    ? []
    : [`${statusKey('Reservation', tenant, name)} is Bound; its owner ${owner.name} is not bound to ${node}`];
}

/** The larger, the more a charge may take from others: Guaranteed before Borrowed, then priority. */
function rankOf(cell: CellView, { tenant, revision = '', rank }: Charge): readonly [number, number] {
  const className = cell.object('WorkloadRevision', tenant, revision)?.spec.priorityClassName ?? 'default';
  const value = cell.object('PriorityClass', undefined, className)?.spec.value ?? 0;
  return [rank === 'Guaranteed' ? 1 : 0, value];
}

function wrongVictims(commit: Commit, after: CellView, tenant: string, name: string): readonly string[] {
  const hold = after.object('Reservation', tenant, name);
  const isNew = isNewHold(commit, tenant, name);
  const charge = hold?.status?.charge;
  if (!isNew || hold === undefined || charge === undefined) return [];
  const [guarantee, priority] = rankOf(after, charge);
  const victims = (hold.status?.awaits ?? []).map(({ uid }) => uid);
  return [...after.objects('Replica')]
    .filter(({ metadata, status }) => {
      if (!victims.includes(metadata.uid) || status?.charge === undefined) return false;
      const [otherGuarantee, otherPriority] = rankOf(after, status.charge);
      return guarantee < otherGuarantee || (guarantee === otherGuarantee && priority <= otherPriority);
    })
    .map(
      ({ metadata }) =>
        `${statusKey('Reservation', tenant, name)} takes from ${metadata.namespace}/${metadata.name}, which it does not rank above`,
    );
}

/** What a victim gives up moves to the hold in the transaction that ends it: nobody is awaited who has ended. */
function awaitsEnded(cell: CellView, hold: Reservation): readonly string[] {
  const { metadata, spec, status } = hold;
  if (status?.state !== 'Held' || status.awaits === undefined || status.awaits.length === 0) return [];
  const live = new Set<string>();
  for (const replica of cell.objects('Replica'))
    if (replica.status !== undefined && !isTerminal(replica.status.stage)) live.add(replica.metadata.uid);
  return status.awaits
    .filter(({ uid }) => !live.has(uid))
    .map(
      ({ replica, uid }) =>
        `${statusKey('Reservation', metadata.namespace, metadata.name)} on ${spec.node} still awaits ${replica} (${uid}), which has ended`,
    );
}

function wrongPool(cell: CellView, { key, tenant, name, after }: ReplicaChange): readonly string[] {
  const node = cell.object('Node', undefined, after?.binding?.node ?? '');
  const replica = cell.object('Replica', tenant, name);
  const revision = cell.object('WorkloadRevision', tenant, replica?.spec.revision ?? '');
  if (node === undefined || revision === undefined || mayUsePool(cell, node, revision)) return [];
  const className = revision.spec.priorityClassName ?? 'default';
  return [`${key} of class ${className} was bound to ${node.metadata.name}, which is kept for recovery`];
}
