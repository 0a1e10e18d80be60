import type { DecisionDraft } from './contract.js';

// Long enough that a lot which is woken in vain every second does not fill the log; short enough that the last word on
// it is always among the decisions that are kept.
const againAfterMs = 600_000;
/** Past so many the one kept longest ago is forgotten, which costs a receipt too many. */
const lotsMax = 10_000;

/**
 * Which refusals are worth a receipt. A lot that finds no place is tried whenever something changes that could have
 * helped; as long as nothing is different for it, the first receipt says all there is to say.
 */
export class KeptRefusals {
  // In the order in which they were kept.
  readonly #last = new Map<
    string,
    { readonly said: string; readonly decision: string; readonly atMs: number }
  >();

  constructor(private readonly max = lotsMax) {}

  /**
   * The decision whose receipt says what this turn of a lot, which placed nothing, says: this one, which is then to be
   * kept, or one that was kept lately.
   */
  receiptFor(lot: string, decision: string, draft: DecisionDraft, nowMs: number): string {
    const said = saidBy(draft);
    const last = this.#last.get(lot);
    if (last?.said === said && nowMs - last.atMs < againAfterMs) return last.decision;
    this.#last.delete(lot);
    this.#last.set(lot, { said, decision, atMs: nowMs });
    for (const [oldest, { atMs }] of this.#last) {
      if (this.#last.size <= this.max && nowMs - atMs < againAfterMs) break;
      this.#last.delete(oldest);
    }
    return decision;
  }

  /** It found a place: its next refusal is news again. */
  forget(lot: string): void {
    this.#last.delete(lot);
  }
}

const saidBy = ({ generation, policyRevision, reason, snapshot, rejections = [] }: DecisionDraft): string =>
  JSON.stringify([
    ...[generation, policyRevision, reason, snapshot.nodes],
    ...rejections.map((each) => [each.reason, each.count]),
  ]);
