import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import { type NodeAccount, nodeOfLease } from '../../model/records.js';
import { CellView, placeOf } from './cell-view.js';
import type { CellState, Commit, Violation } from './checker.js';
import { LeadingTerms } from './leading-terms.js';
import { type Fit, type FitKind, WaitingFits } from './waiting-fit.js';

/**
 * How long a replica may wait although it need not. A scheduler wakes what a change could cure within 20 ms; every 2 s it
 * tries again what time or a victim could cure; a gang looks again within 1 s of either. The rest is for one turn and one
 * transaction in a cell that is not busy. All bounds are far below the 60 s after which everything is tried again.
 */
export const promptMs: Readonly<Record<FitKind, number>> = {
  Place: 1_000,
  Hold: 1_000,
  Holds: 1_000,
  Time: 3_000,
  Room: 3_000,
  Gang: 4_000,
};

/** After the nth rejected proposal in a row a replica waits for 100 ms × 2^(n−1), 10 s at most. */
const backoffMs = (rejections: number): number => Math.min(10_000, 100 * 2 ** (rejections - 1));

/** A replica that waits and need not, and since when. */
interface Tracked extends Fit {
  readonly sinceMs: number;
}

/** How long a replica waited after it fitted, until it was placed or fitted no longer. */
export interface Served {
  readonly replica: string;
  readonly kind: FitKind;
  readonly fitMs: number;
  readonly waitedMs: number;
}

export interface PromptBindingOptions {
  /** The leases of the schedulers. While one is not held, nothing is promised. */
  readonly leases: () => readonly string[];
  /** The custom filters of the schedulers. */
  readonly accepted: (node: Node, account: NodeAccount) => 'Place' | 'Time' | undefined;
}

/**
 * [L1] Work that fits and is allowed gets bound, within a bound: after every commit each replica that waits is judged, and
 * from the commit that made it fit until it is placed, or fits no longer, no more than `promptMs` may pass. The bound
 * does not hold while faults go on, while a scheduler does not lead, for a replica that backs off after a rejection, and for
 * a replica beside which another one of a higher priority fits.
 */
export class PromptBinding {
  /** Every fit that ended, in order. */
  readonly served: Served[] = [];
  readonly #terms = new LeadingTerms();
  readonly #waiting = new Set<string>();
  readonly #tracked = new Map<string, Tracked>();
  readonly #rejections = new Map<string, { readonly count: number; readonly untilMs: number }>();
  readonly #heard = new Map<string, { readonly atMs: number; readonly silentMs: number }>();
  // Until something is promised nothing is judged, which takes its time.
  #isAtWork = false;
  #promisedFromMs = Number.POSITIVE_INFINITY;

  constructor(private readonly options: PromptBindingOptions) {}

  /** The cell is calm from that time on, and the bounds hold. */
  promiseFrom(atMs: number): void {
    this.#isAtWork = true;
    this.#promisedFromMs = atMs;
  }

  /** A single fault struck a calm cell; its effects are over by that time. */
  excuse(untilMs: number): void {
    this.#promisedFromMs = Math.max(this.#promisedFromMs, untilMs);
  }

  /** A proposal for the replica was rejected. */
  noteRejection(uid: string, atMs: number): void {
    const count = (this.#rejections.get(uid)?.count ?? 0) + 1;
    this.#rejections.set(uid, { count, untilMs: atMs + backoffMs(count) });
  }

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    this.#terms.onCommit(commit);
    let isNews = false;
    for (const { key, after } of commit.changes) {
      const place = placeOf(key);
      if (place?.kind === 'Event') continue;
      if (place?.kind === 'Replica' && place.part === 's') this.#note(key, after);
      if (!key.startsWith('/l/') || this.#hear(key, commit.atMs)) isNews = true;
    }
    if (!this.#isAtWork || this.#waiting.size + this.#tracked.size === 0) return [];
    const cell = new CellView(state);
    const late = [...this.#tracked].flatMap(([key, tracked]) =>
      this.#lateness(cell, key, tracked, commit.atMs),
    );
    if (isNews) this.#judge(commit.atMs, cell);
    return late;
  }

  /** Whether the key is of a node's lease. */
  #hear(key: string, atMs: number): boolean {
    const node = nodeOfLease(key.slice('/l/'.length));
    if (node === undefined) return false;
    this.#heard.set(node, { atMs, silentMs: atMs - (this.#heard.get(node)?.atMs ?? atMs) });
    return true;
  }

  #note(key: string, after: unknown): void {
    const stage = (after as Pick<Replica, 'status'> | undefined)?.status?.stage;
    if (stage === 'Queued' || stage === 'Scheduled') this.#waiting.add(key);
    else this.#waiting.delete(key);
  }

  #judge(atMs: number, cell: CellView): void {
    const fits = new WaitingFits(cell.state, {
      heard: (node) => {
        const heard = this.#heard.get(node);
        return heard && { ageMs: atMs - heard.atMs, silentMs: heard.silentMs };
      },
      accepted: this.options.accepted,
    });
    for (const key of new Set([...this.#tracked.keys(), ...this.#waiting])) {
      const replica = replicaAt(cell, key);
      const fit = replica && this.#waiting.has(key) ? fits.fitOf(replica) : undefined;
      const before = this.#tracked.get(key);
      if (before?.kind === fit?.kind) continue;
      if (before !== undefined && replica !== undefined)
        this.served.push({
          ...{ replica: key, kind: before.kind, fitMs: before.sinceMs },
          waitedMs: atMs - before.sinceMs,
        });
      if (fit === undefined) this.#tracked.delete(key);
      else this.#tracked.set(key, { ...fit, sinceMs: atMs });
    }
  }

  /** The violation of a replica that has waited for too long. */
  #lateness(
    cell: CellView,
    key: string,
    { kind, node, sinceMs }: Tracked,
    atMs: number,
  ): readonly Violation[] {
    const ledMs = this.#ledSinceMs(atMs);
    const replica = replicaAt(cell, key);
    if (ledMs === undefined || replica === undefined) return [];
    const excusedMs = this.#rejections.get(replica.metadata.uid)?.untilMs ?? 0;
    const fromMs = Math.max(sinceMs, ledMs, excusedMs, this.#promisedFromMs);
    if (atMs - fromMs <= promptMs[kind] || this.#isBehind(cell, key)) return [];
    // Reported once for each bound that passes.
    this.#tracked.delete(key);
    const excuse = fromMs > sinceMs ? `, without an excuse since ${Math.round(fromMs)} ms` : '';
    return [
      {
        rule: 'L1',
        revision: cell.state.revision,
        message: `${key} has fitted on ${node} since ${Math.round(sinceMs)} ms (${kind})${excuse}, and still waits at ${Math.round(atMs)} ms: at most ${promptMs[kind]} ms may pass`,
      },
    ];
  }

  /** Since when all schedulers lead; undefined: one does not. */
  #ledSinceMs(atMs: number): number | undefined {
    let sinceMs = 0;
    for (const lease of this.options.leases()) {
      const ledMs = this.#terms.heldSinceMs(lease, atMs);
      if (ledMs === undefined) return undefined;
      sinceMs = Math.max(sinceMs, ledMs);
    }
    return sinceMs;
  }

  /** Whether a replica of a higher priority fits as well, and has not been placed. */
  #isBehind(cell: CellView, key: string): boolean {
    const own = priorityOf(cell, key);
    return [...this.#tracked.keys()].some((other) => other !== key && priorityOf(cell, other) > own);
  }
}

function replicaAt(cell: CellView, key: string): Replica | undefined {
  const place = placeOf(key);
  return place && cell.object('Replica', place.tenant, place.name);
}

function priorityOf(cell: CellView, key: string): number {
  const replica = replicaAt(cell, key);
  const revision =
    replica && cell.object('WorkloadRevision', replica.metadata.namespace, replica.spec.revision);
  const name = revision?.spec.priorityClassName ?? 'default';
  return cell.object('PriorityClass', undefined, name)?.spec.value ?? 0;
}
