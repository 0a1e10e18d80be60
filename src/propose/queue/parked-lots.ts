import type { Amount } from '../../model/amount.js';
import { mayRankAbove, type Outranked, type ParkReason } from './cures.js';
import type { Lot, Parked } from './lots.js';
import { MovableHeap } from './movable-heap.js';
import { isWithin, leastOfAsk, nameOfAsk } from './room.js';

/** The lots that a wake is for: all, those of one tenant, those that may find room, or those that may rank above another replica. */
export interface WakeScope {
  readonly tenant?: string;
  readonly room?: Amount;
  readonly above?: Outranked;
}

/** Where room is short, lots are woken only by as much of it as they ask for. */
const roomReasons: ReadonlySet<ParkReason> = new Set<ParkReason>(['NodeFull', 'DeviceTaken', 'PortTaken']);

/**
 * Lots that are parked, put together with those of their line that are woken by the same changes, so that a wake costs
 * one step for each such group, however many lots it has.
 *
 * Invariant: a group is in `woken` of its line exactly while it was woken after its first lot was parked.
 */
export class ParkedLots {
  /** `isGuaranteed`: whether something is guaranteed to a tenant. */
  constructor(private readonly isGuaranteed: (tenant: string) => boolean) {}

  readonly #byReason = new Map<ParkReason, Set<Parked>>();

  hasUnder(reason: ParkReason): boolean {
    return (this.#byReason.get(reason)?.size ?? 0) > 0;
  }

  /** Those that a wake is for. */
  *within(reason: ParkReason, { tenant, room, above }: WakeScope): Generator<Parked> {
    for (const parked of this.#byReason.get(reason) ?? []) {
      if (tenant !== undefined && parked.line.tenant !== tenant) continue;
      if (room !== undefined && parked.least !== undefined && !isWithin(parked.least, room)) continue;
      const { line } = parked;
      if (above !== undefined && !mayRankAbove(line.band.priority, this.isGuaranteed(line.tenant), above))
        continue;
      yield parked;
    }
  }

  put(lot: Lot, reasons: Iterable<ParkReason>): void {
    const parkedIn: Parked[] = [];
    for (const reason of reasons) {
      const parked = this.#groupOf(lot, reason);
      parked.lots.put(lot);
      rank(parked);
      parkedIn.push(parked);
    }
    lot.parkedIn = parkedIn;
  }

  remove(lot: Lot): void {
    const { parkedIn } = lot;
    lot.parkedIn = undefined;
    for (const parked of parkedIn ?? []) {
      parked.lots.remove(lot);
      rank(parked);
      if (parked.lots.size > 0) continue;
      parked.line.parked.delete(parked.name);
      this.#byReason.get(parked.reason)?.delete(parked);
    }
  }

  #groupOf(lot: Lot, reason: ParkReason): Parked {
    const { line, amount } = lot;
    const isByAsk = roomReasons.has(reason);
    const name = isByAsk ? `${reason} ${(lot.ask ??= nameOfAsk(amount))}` : reason;
    const known = line.parked.get(name);
    if (known !== undefined) return known;
    const lots = new MovableHeap<Lot>((a, b) => a.parkedAt < b.parkedAt);
    const made = { name, reason, line, least: isByAsk ? leastOfAsk(amount) : undefined, lots, wokenAt: 0 };
    line.parked.set(name, made);
    const all = this.#byReason.get(reason);
    if (all === undefined) this.#byReason.set(reason, new Set([made]));
    else all.add(made);
    return made;
  }
}

export function wakeAt(parked: Parked, at: number): void {
  parked.wokenAt = at;
  rank(parked);
}

export const isParkedLonger = (a: Parked, b: Parked): boolean =>
  (a.lots.peek()?.parkedAt ?? 0) < (b.lots.peek()?.parkedAt ?? 0);

function rank(parked: Parked): void {
  const first = parked.lots.peek();
  if (first !== undefined && first.parkedAt < parked.wokenAt) parked.line.woken.put(parked);
  else parked.line.woken.remove(parked);
}
