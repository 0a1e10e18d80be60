import { type MonotonicInstant, msBetween } from '../env/instant.js';
import { fenceContract } from '../model/fence-contract.js';

/**
 * What is believed of a node from how long ago it was heard of. Suspect: its renewal is late. Unknown: its lease has
 * expired. Lost: silent for so long that all that could be given away has been. None of them says that anything
 * stopped there.
 */
export type Verdict = 'Fresh' | 'Suspect' | 'Unknown' | 'Lost';

export interface FreshnessRules {
  /** A node is suspect when it is silent for longer than its own history explains, within these bounds. */
  readonly suspectMsLeast: number;
  readonly suspectMsMost: number;
  /** How many deviations beyond the mean of its own gaps are still explained by them. */
  readonly deviations: number;
  /** Silent for so long, at the latest since its lease expired: lost. */
  readonly lostAfterMs: number;
}

/**
 * Nodes renew every 5 seconds, in a large fleet every 10. The least allows for one renewal that went missing, so that
 * 1 % of loss closes no gates; the most keeps the promise that a silent node is suspect within 15 seconds.
 */
export const usualFreshness: FreshnessRules = {
  suspectMsLeast: 11_000,
  suspectMsMost: 14_000,
  deviations: 4,
  lostAfterMs: fenceContract.windowSeconds * 1_000,
};

/** Gaps fewer than this tell nothing yet. */
const gapsMin = 3;

/** How long a node may be silent, by its own last arrivals (latest last): the mean gap and some deviations. */
export function suspectAfterMs(
  arrivals: readonly MonotonicInstant[],
  { suspectMsLeast, suspectMsMost, deviations }: FreshnessRules,
): number {
  const gaps = arrivals.slice(1).map((at, index) => msBetween(arrivals[index] as MonotonicInstant, at));
  if (gaps.length < gapsMin) return suspectMsMost;
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
  const explained = mean + deviations * Math.sqrt(variance);
  return Math.min(suspectMsMost, Math.max(suspectMsLeast, explained));
}

export interface Look {
  readonly verdict: Verdict;
  /** How long the node has been silent, as far as this observer can say. */
  readonly silentMs: number;
  /** It was heard of in time. Otherwise Fresh says only that nobody has listened for long enough to call it late. */
  readonly isHeard: boolean;
}

/** A verdict with what it was made from. */
export interface Judgement extends Look {
  /** How long ago it was heard of; undefined: never since this observer listens. */
  readonly ageMs: number | undefined;
  /** The same of its last arrivals, latest first. */
  readonly arrivalsMs: readonly number[];
  /** How long its own history explains. */
  readonly lateMs: number;
  readonly leaseMs: number;
  /** The resourceVersion of the lease that has stood for that long. */
  readonly leaseRevision: number;
}

interface Heard {
  /** How long its own history explains; it changes only when it is heard of. */
  lateMs: number;
  /** The version of the lease that was seen last: a renewal makes another. */
  version: string;
  leaseMs: number;
  /** Latest last. */
  arrivals: readonly MonotonicInstant[];
}

// So many arrivals of a node are remembered.
const arrivalsMax = 8;

/**
 * When each node was last heard of, on the clock of whoever listens: a lease that changed is a sign of life at the
 * moment the change is seen. Pure: time is given by the caller. It holds what its caller knows of, and forgets with it.
 */
export class NodeFreshness {
  readonly #nodes = new Map<string, Heard>();

  constructor(
    private readonly since: MonotonicInstant,
    private readonly rules: FreshnessRules = usualFreshness,
  ) {}

  /** A lease as it is found when listening begins: when it was renewed is not known. */
  found(node: string, version: string, leaseSeconds: number): void {
    const lateMs = suspectAfterMs([], this.rules);
    this.#nodes.set(node, { version, leaseMs: leaseSeconds * 1_000, lateMs, arrivals: [] });
  }

  /** A lease as it is seen at some time; the same version again is no news. */
  seen(node: string, version: string, leaseSeconds: number, now: MonotonicInstant): void {
    const heard = this.#nodes.get(node) ?? { version: '', leaseMs: 0, lateMs: 0, arrivals: [] };
    if (heard.version === version) return;
    heard.version = version;
    heard.leaseMs = leaseSeconds * 1_000;
    // Another list: whoever judged by the last one still has it.
    heard.arrivals = [...heard.arrivals.slice(1 - arrivalsMax), now];
    heard.lateMs = suspectAfterMs(heard.arrivals, this.rules);
    this.#nodes.set(node, heard);
  }

  forget(node: string): void {
    this.#nodes.delete(node);
  }

  nodes(): Iterable<string> {
    return this.#nodes.keys();
  }

  /** How long ago the node was heard of; undefined: not since this observer listens. */
  ageMs(node: string, now: MonotonicInstant): number | undefined {
    const last = this.#nodes.get(node)?.arrivals.at(-1);
    return last === undefined ? undefined : msBetween(last, now);
  }

  /**
   * What to believe of a node. Silence counts from when it was last heard of, and never from before `notBefore` or
   * the time that this observer began to listen: nobody is late before a full window has passed.
   */
  look(node: string, now: MonotonicInstant, notBefore: MonotonicInstant = this.since): Look | undefined {
    const heard = this.#nodes.get(node);
    if (heard === undefined) return undefined;
    const { leaseMs, lateMs } = heard;
    const watchedMs = Math.min(msBetween(this.since, now), msBetween(notBefore, now));
    const ageMs = this.ageMs(node, now);
    const silentMs = Math.min(watchedMs, ageMs ?? watchedMs);
    const verdict = verdictAfter(silentMs, { lateMs, leaseMs, lostMs: this.rules.lostAfterMs });
    return { verdict, silentMs, isHeard: ageMs !== undefined && ageMs <= lateMs };
  }

  /** The same, with all that it was made from. */
  judge(node: string, now: MonotonicInstant, notBefore?: MonotonicInstant): Judgement | undefined {
    const heard = this.#nodes.get(node);
    const look = this.look(node, now, notBefore);
    if (heard === undefined || look === undefined) return undefined;
    return new HeardJudgement(look, heard, now);
  }
}

/** Of one moment: what is in `heard` is taken at once, but for what only people read. */
class HeardJudgement implements Judgement {
  readonly verdict: Verdict;
  readonly silentMs: number;
  readonly isHeard: boolean;
  readonly ageMs: number | undefined;
  readonly lateMs: number;
  readonly leaseMs: number;
  readonly leaseRevision: number;
  readonly #arrivals: readonly MonotonicInstant[];
  readonly #now: MonotonicInstant;

  constructor(look: Look, heard: Heard, now: MonotonicInstant) {
    const last = heard.arrivals.at(-1);
    this.verdict = look.verdict;
    this.silentMs = look.silentMs;
    this.isHeard = look.isHeard;
    this.ageMs = last === undefined ? undefined : msBetween(last, now);
    this.lateMs = heard.lateMs;
    this.leaseMs = heard.leaseMs;
    this.leaseRevision = Number(heard.version);
    this.#arrivals = heard.arrivals;
    this.#now = now;
  }

  get arrivalsMs(): readonly number[] {
    return this.#arrivals.map((at) => msBetween(at, this.#now)).toReversed();
  }
}

/** What a silence of that length means. */
export function verdictAfter(
  silentMs: number,
  { lateMs, leaseMs, lostMs }: { readonly lateMs: number; readonly leaseMs: number; readonly lostMs: number },
): Verdict {
  if (silentMs > leaseMs) return silentMs >= lostMs ? 'Lost' : 'Unknown';
  return silentMs > lateMs ? 'Suspect' : 'Fresh';
}
