import { amountOf } from '../../model/amount.js';
import { whyNotOffered } from '../../model/held-offer.js';
import type { Gang } from '../../model/kinds/gang.js';
import type { Node } from '../../model/kinds/node.js';
import type { NodeLedger } from '../../model/kinds/node-ledger.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Reservation } from '../../model/kinds/reservation.js';
import { isTerminal } from '../../model/stages.js';

/** What becomes of a hold. Keep: nothing now; look again after `ms` if given. */
export type HoldVerdict =
  | { readonly kind: 'Keep'; readonly ms?: number }
  | { readonly kind: 'Release'; readonly as: 'Released' | 'Expired'; readonly reason: string }
  /** It is over and long enough ago: the object goes. */
  | { readonly kind: 'Delete' };

export interface HoldInput {
  readonly reservation: Reservation;
  /** The replica of the owner's name, if there is one. */
  readonly owner: Replica | undefined;
  readonly gang: Gang | undefined;
  /** The node it is held on, and what is committed there. */
  readonly node: Node | undefined;
  readonly ledger: NodeLedger | undefined;
  /** What it awaits the end of, as far as that is still there. */
  readonly victims: readonly Replica[];
  /** How long this process has seen it in this state, with as much as it still awaits. */
  readonly inStateMs: number;
}

/** So long a hold that is over stays to be looked at. */
const keptMs = 60_000;

/**
 * [L7] A hold whose owner no longer needs it, that cannot become a binding where it is, or that has outlived its deadline
 * without getting any further, is released.
 */
export function judgeHold(input: HoldInput): HoldVerdict {
  const { reservation, owner, gang, node, victims, inStateMs } = input;
  const { spec, status, metadata } = reservation;
  if (status !== undefined && status.state !== 'Held')
    return inStateMs >= keptMs ? { kind: 'Delete' } : { kind: 'Keep', ms: keptMs - inStateMs };
  const released = (reason: string): HoldVerdict => ({ kind: 'Release', as: 'Released', reason });
  const whyOver = spec.owner.kind === 'Replica' ? whyNotOwned(reservation, owner) : undefined;
  if (whyOver !== undefined) return released(whyOver);
  const leftMs = spec.deadlineSeconds * 1_000 - inStateMs;
  const whyNever = whyNeverBound(input);
  // A committed gang goes forward: its hold goes only where it cannot, or awaits what may never end, and the authority sees to that too.
  if (spec.intent === 'Gang' && gang?.status?.state === 'Committed') {
    if (whyNever !== undefined) return released(whyNever);
    if (leftMs > 0) return { kind: 'Keep', ms: leftMs };
    if (takesNothing(node)) return released('NodeTakesNothing');
    if ((status?.awaits ?? []).length === 0) return { kind: 'Keep' };
    return expired(victims);
  }
  if (metadata.deletionTimestamp !== undefined) return released('Deleted');
  if (whyNever !== undefined) return released(whyNever);
  if (leftMs > 0) return { kind: 'Keep', ms: leftMs };
  return expired(victims);
}

function expired(victims: readonly Replica[]): HoldVerdict {
  // What makes room for it is on its way out. That has a deadline of its own.
  if (victims.some(({ status }) => status?.stage === 'Releasing')) return { kind: 'Keep' };
  return { kind: 'Release', as: 'Expired', reason: 'DeadlinePassed' };
}

/** Why it cannot be bound on its node any more, as far as anybody can tell. */
function whyNeverBound({ node, ledger, reservation }: HoldInput): string | undefined {
  if (node === undefined) return 'NodeGone';
  if (node.metadata.deletionTimestamp !== undefined) return 'NodeDeleted';
  if (node.spec.drain !== undefined) return 'NodeDrains';
  if (node.status?.reachability === 'Lost') return 'NodeLost';
  return offersLess(node, ledger, reservation) ? 'NodeOffersLess' : undefined;
}

/** What still awaits victims is not all there yet: that is no news of the node. */
function offersLess(node: Node, ledger: NodeLedger | undefined, { status }: Reservation): boolean {
  if (status?.charge === undefined || ledger === undefined || (status.awaits ?? []).length > 0) return false;
  const { allocatable = {}, used = {} } = ledger.status ?? {};
  const offer = {
    ...{ allocatable: amountOf(allocatable), used: amountOf(used) },
    devices: node.status?.devices ?? {},
  };
  return whyNotOffered(offer, status.charge) !== undefined;
}

const takesNothing = (node: Node | undefined): boolean =>
  node?.spec.unschedulable === true || node?.status?.gate?.state === 'Closed';

function whyNotOwned({ metadata, spec }: Reservation, owner: Replica | undefined): string | undefined {
  if (owner === undefined || owner.metadata.uid !== spec.owner.uid) return 'OwnerGone';
  const { stage = 'Queued', hold } = owner.status ?? {};
  if (isTerminal(stage)) return 'OwnerEnded';
  return stage === 'Scheduled' && hold === metadata.name ? undefined : 'OwnerMovedOn';
}
