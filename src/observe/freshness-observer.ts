import type { Env } from '../env/env.js';
import type { MonotonicInstant } from '../env/instant.js';
import type { Lease } from '../model/kinds/lease.js';
import type { Objects } from '../model/ports.js';
import { nodeOfLease } from '../model/records.js';
import { type FreshnessRules, type Judgement, type Look, NodeFreshness } from './node-freshness.js';

/** Listens to the leases of nodes in this process's cache, and says how fresh each node is. */
export class FreshnessObserver {
  readonly #freshness: NodeFreshness;

  constructor(
    private readonly parts: {
      readonly objects: Pick<Objects, 'follow' | 'list'>;
      readonly env: Env;
      readonly rules?: FreshnessRules;
    },
  ) {
    this.#freshness = new NodeFreshness(parts.env.clock.monotonic(), parts.rules);
  }

  /** Listens until the signal aborts. */
  start(signal: AbortSignal): void {
    const { objects } = this.parts;
    objects.follow(
      (change) => {
        if (change.kind !== 'Lease') return;
        const { type, object } = change;
        const node = nodeOfLease(object.metadata.name);
        if (node === undefined) return;
        if (type === 'DELETED') this.#freshness.forget(node);
        else this.#seen(node, object as Lease);
      },
      () => {
        const leases = new Map(this.#leases());
        for (const node of this.#freshness.nodes()) if (!leases.has(node)) this.#freshness.forget(node);
        for (const [node, lease] of leases) this.#seen(node, lease);
      },
      signal,
      new Set(['Lease']),
    );
    for (const [node, { metadata, spec }] of this.#leases())
      this.#freshness.found(node, metadata.resourceVersion, spec.durationSeconds);
  }

  nodes(): Iterable<string> {
    return this.#freshness.nodes();
  }

  /** How long ago a node was heard of; undefined: not since this process listens. */
  ageMs(node: string): number | undefined {
    return this.#freshness.ageMs(node, this.parts.env.clock.monotonic());
  }

  /** See `NodeFreshness.look`. */
  look(node: string, notBefore?: MonotonicInstant): Look | undefined {
    return this.#freshness.look(node, this.parts.env.clock.monotonic(), notBefore);
  }

  /** See `NodeFreshness.judge`. */
  judge(node: string, notBefore?: MonotonicInstant): Judgement | undefined {
    return this.#freshness.judge(node, this.parts.env.clock.monotonic(), notBefore);
  }

  #seen(node: string, { metadata, spec }: Lease): void {
    const now = this.parts.env.clock.monotonic();
    this.#freshness.seen(node, metadata.resourceVersion, spec.durationSeconds, now);
  }

  *#leases(): Generator<readonly [string, Lease]> {
    for (const lease of this.parts.objects.list<Lease>('Lease')) {
      const node = nodeOfLease(lease.metadata.name);
      if (node !== undefined) yield [node, lease];
    }
  }
}
