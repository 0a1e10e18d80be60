import type { Env } from '../env/env.js';
import { type Rate, TokenBucket } from '../env/token-bucket.js';
import type { Replica } from '../model/kinds/replica.js';
import type { Actor, Authority, Records, ReplicaRef } from '../model/ports.js';
import type { Reason } from '../model/reasons.js';
import { statusKey } from '../model/records.js';
import { statusIn } from './held-replicas.js';

export interface ExplanationsParts {
  readonly authority: Pick<Authority, 'postpone'>;
  readonly records: Records;
  readonly env: Env;
  readonly nowMs: () => number;
  readonly actor: Actor;
  /** Those of a lot who wait. */
  readonly waitingIn: (lot: string) => Iterable<ReplicaRef>;
  /** Whether the lot of one that waits is parked. */
  readonly isParked: (replica: ReplicaRef) => boolean;
  /** Whether proposals are on their way, whose binding comes before words about those that wait. */
  readonly isPlacing: () => boolean;
  readonly onNews: () => void;
  readonly rate?: Rate;
}

export interface Why {
  readonly reason: Reason;
  readonly message: string;
  /** The Decision that says more, if there is one. */
  readonly decision?: string;
}

/** What a lot is told, or was. */
interface Told {
  readonly why: Why;
  /** Those who have not been told yet. */
  readonly replicas: Iterator<ReplicaRef>;
  /** Somebody has come since it began, whom it does not meet: the lot is gone through again when it waits again. */
  isShort: boolean;
}

// What waits is told why, but the writes for it stay a fraction of what the store and this process take (L8), so that
// very many that wait do not hold up the few that can be placed. They come in rounds, each of which shares a flush; one
// at a time, as the budget allows it, each would cost a flush that others have to wait for.
const rateDefault: Rate = { perSecond: 500, burst: 500 };
const roundMs = 100;
const roundMsWhilePlacing = 500;
const atOnceMax = 64;
const looksPerDrain = 512;

/**
 * [L6] Tells replicas that wait why. A lot of many waits for one reason: it is gone through a few at a time, and a
 * replica that says so already is left alone, so that under constant inputs nothing is written (L9).
 */
export class Explanations {
  readonly #walks = new Map<string, Told>();
  readonly #single = new Map<string, { readonly replica: ReplicaRef; readonly why: Why }>();
  // Lots that were gone through. As many as there are lots, until the next `forget`.
  readonly #told = new Map<string, Told>();
  readonly #bucket: TokenBucket;
  #underWay = 0;
  #roundAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly parts: ExplanationsParts) {
    this.#bucket = new TokenBucket(parts.rate ?? rateDefault, parts.nowMs());
  }

  get nextDueMs(): number | undefined {
    if (this.#walks.size + this.#single.size === 0 || this.#underWay >= atOnceMax) return undefined;
    const nowMs = this.parts.nowMs();
    return Math.max(this.#nextRoundMs, nowMs + this.#bucket.msUntilNext(nowMs));
  }

  lotWaits(lot: string, why: Why): void {
    const told = this.#told.get(lot);
    if (told?.why.reason === why.reason && !told.isShort) return;
    if (this.#walks.get(lot)?.why.reason === why.reason) return;
    this.#told.delete(lot);
    this.#walks.set(lot, { why, replicas: [...this.parts.waitingIn(lot)].values(), isShort: false });
  }

  /** Another one came to a lot, or came back and may say something else by now. If the lot is parked it will have no turn of its own, so it is told what the lot was. */
  joins(lot: string, replica: ReplicaRef): void {
    const told = this.#told.get(lot) ?? this.#walks.get(lot);
    if (told === undefined) return;
    told.isShort = true;
    if (this.parts.isParked(replica)) this.replicaWaits(replica, told.why);
  }

  replicaWaits(replica: ReplicaRef, why: Why): void {
    this.#single.set(replica.uid, { replica, why });
  }

  /** From now on every lot is gone through again when it waits: for those who came to one that was told already. */
  forget(): void {
    this.#told.clear();
  }

  /** Sends what the budget allows, if it is time for a round. */
  drain(): void {
    const nowMs = this.parts.nowMs();
    if (this.#walks.size + this.#single.size === 0 || nowMs < this.#nextRoundMs) return;
    let looks = looksPerDrain;
    const mayGoOn = (): boolean =>
      looks-- > 0 && this.#underWay < atOnceMax && this.#bucket.msUntilNext(nowMs) === 0;
    for (const [uid, single] of this.#single) {
      if (!mayGoOn()) return;
      this.#single.delete(uid);
      this.#tell(single.replica, single.why, nowMs);
    }
    for (const [lot, walk] of this.#walks) {
      for (;;) {
        if (!mayGoOn()) return;
        const next = walk.replicas.next();
        if (next.done === true) break;
        this.#tell(next.value, walk.why, nowMs);
      }
      this.#walks.delete(lot);
      this.#told.set(lot, walk);
    }
  }

  get #nextRoundMs(): number {
    return this.#roundAtMs + (this.parts.isPlacing() ? roundMsWhilePlacing : roundMs);
  }

  #tell(replica: ReplicaRef, why: Why, nowMs: number): void {
    const { records, authority, actor } = this.parts;
    const status = statusIn<Replica>(records, statusKey('Replica', replica.tenant, replica.name));
    const said = status?.conditions?.find(({ type }) => type === 'SchedulingRetrying');
    if (status?.stage !== 'Queued' || (said?.status === 'True' && said.reason === why.reason)) return;
    this.#bucket.take(nowMs);
    this.#roundAtMs = nowMs;
    this.#underWay += 1;
    // Best effort: what did not get through is told again when the lot is gone through the next time.
    void authority
      .postpone({ actor, replica, ...why })
      .catch(() => undefined)
      .then(() => {
        this.#underWay -= 1;
        this.parts.onNews();
      });
  }
}
