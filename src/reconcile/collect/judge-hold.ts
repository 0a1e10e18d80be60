import type { Gang } from '../../model/kinds/gang.js';
import type { Node } from '../../model/kinds/node.js';
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
  /** The node it is held on. */
  readonly node: Node | undefined;
  /** How long this process has seen it in this state. */
  readonly inStateMs: number;
}

/** So long a hold that is over stays to be looked at. */
const keptMs = 60_000;

/** [L7] A hold whose owner no longer needs it, or that has outlived its deadline, is released. */
export function judgeHold({ reservation, owner, gang, node, inStateMs }: HoldInput): HoldVerdict {
  const { spec, status, metadata } = reservation;
  if (status !== undefined && status.state !== 'Held')
    return inStateMs >= keptMs ? { kind: 'Delete' } : { kind: 'Keep', ms: keptMs - inStateMs };
  const released = (reason: string): HoldVerdict => ({ kind: 'Release', as: 'Released', reason });
  const whyOver = spec.owner.kind === 'Replica' ? whyNotOwned(reservation, owner) : undefined;
  if (whyOver !== undefined) return released(whyOver);
  // The authority refuses it too: a committed gang goes forward, and its holds with it.
  if (spec.intent === 'Gang' && gang?.status?.state === 'Committed') return { kind: 'Keep' };
  if (metadata.deletionTimestamp !== undefined) return released('Deleted');
  // Nothing can be bound there any more.
  if (node?.spec.drain !== undefined) return released('NodeDrains');
  const leftMs = spec.deadlineSeconds * 1_000 - inStateMs;
  return leftMs > 0
    ? { kind: 'Keep', ms: leftMs }
    : { kind: 'Release', as: 'Expired', reason: 'DeadlinePassed' };
}

function whyNotOwned({ metadata, spec }: Reservation, owner: Replica | undefined): string | undefined {
  if (owner === undefined || owner.metadata.uid !== spec.owner.uid) return 'OwnerGone';
  const { stage = 'Queued', hold } = owner.status ?? {};
  if (isTerminal(stage)) return 'OwnerEnded';
  return stage === 'Scheduled' && hold === metadata.name ? undefined : 'OwnerMovedOn';
}
