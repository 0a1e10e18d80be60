import { type MonotonicInstant, msBetween } from '../env/instant.js';

/** What is believed of a node from how long ago it was heard of. None of them says that anything stopped there. */
export type Verdict = 'Fresh' | 'Suspect' | 'Lost';

export interface FreshnessRules {
  /** Silent for so long: its next heartbeat is late. */
  readonly suspectAfterMs: number;
}

/** Nodes renew every 10 seconds at the least often, so that this allows for 4 seconds on the way. */
export const usualFreshness: FreshnessRules = { suspectAfterMs: 14_000 };

/** A verdict with what it was made from. */
export interface Judgement {
  readonly verdict: Verdict;
  /** How long the node has been silent, as far as this observer can say. */
  readonly silentMs: number;
  /** How long ago it was heard of, latest first. Empty: never since this observer listens. */
  readonly arrivalsMs: readonly number[];
  readonly leaseMs: number;
  /** The resourceVersion of the lease that has stood for that long. */
  readonly leaseRevision: number;
}

interface Heard {
  /** The version of the lease that was seen last: a renewal makes another. */
  version: string;
  leaseMs: number;
  /** Latest last. */
  readonly arrivals: MonotonicInstant[];
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
    this.#nodes.set(node, { version, leaseMs: leaseSeconds * 1_000, arrivals: [] });
  }

  /** A lease as it is seen at some time; the same version again is no news. */
  seen(node: string, version: string, leaseSeconds: number, now: MonotonicInstant): void {
    const heard = this.#nodes.get(node) ?? { version: '', leaseMs: 0, arrivals: [] };
    if (heard.version === version) return;
    heard.version = version;
    heard.leaseMs = leaseSeconds * 1_000;
    heard.arrivals.push(now);
    if (heard.arrivals.length > arrivalsMax) heard.arrivals.shift();
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
  judge(
    node: string,
    now: MonotonicInstant,
    notBefore: MonotonicInstant = this.since,
  ): Judgement | undefined {
    const heard = this.#nodes.get(node);
    if (heard === undefined) return undefined;
    const { leaseMs, arrivals } = heard;
    const watchedMs = Math.min(msBetween(this.since, now), msBetween(notBefore, now));
    const silentMs = Math.min(watchedMs, this.ageMs(node, now) ?? watchedMs);
    const verdict = silentMs > leaseMs ? 'Lost' : silentMs > this.rules.suspectAfterMs ? 'Suspect' : 'Fresh';
    const arrivalsMs = arrivals.map((at) => msBetween(at, now)).toReversed();
    return { verdict, silentMs, arrivalsMs, leaseMs, leaseRevision: Number(heard.version) };
  }
}
