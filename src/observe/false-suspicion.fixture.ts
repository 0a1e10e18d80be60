import { monotonicInstant } from '../env/instant.js';
import { SeededRandom } from '../env/random.js';
import { NodeFreshness } from './node-freshness.js';

export interface Weather {
  readonly nodes: number;
  readonly hours: number;
  readonly renewSeconds: number;
  /** The chance that a renewal goes missing, and how late one may be. */
  readonly loss: number;
  readonly jitterMs: number;
}

const leaseSeconds = 40;

/** How often nodes that are well would have been called worse than fresh: each is looked at just before it is heard of again. */
export function falseSuspicions({ nodes, hours, renewSeconds, loss, jitterMs }: Weather): {
  readonly renewals: number;
  readonly Suspect: number;
  readonly Unknown: number;
  readonly Lost: number;
} {
  const counts = { renewals: 0, Fresh: 0, Suspect: 0, Unknown: 0, Lost: 0 };
  const freshness = new NodeFreshness(monotonicInstant(0));
  for (let node = 0; node < nodes; node++) {
    const random = new SeededRandom(`false suspicion ${node}`);
    const name = `n${node}`;
    let heardMs = 0;
    for (let sentMs = 0, version = 1; sentMs < hours * 3_600_000; sentMs += renewSeconds * 1_000) {
      counts.renewals += 1;
      if (random.chance(loss)) continue;
      // A connection keeps the order of what it carries.
      heardMs = Math.max(heardMs, sentMs + random.float() * jitterMs);
      const look = freshness.look(name, monotonicInstant(heardMs));
      counts[look?.verdict ?? 'Fresh'] += 1;
      freshness.seen(name, String((version += 1)), leaseSeconds, monotonicInstant(heardMs));
    }
    freshness.forget(name);
  }
  const { renewals, Suspect, Unknown, Lost } = counts;
  return { renewals, Suspect, Unknown, Lost };
}
