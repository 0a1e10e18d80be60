import type { Env } from '../env/env.js';
import { type MonotonicInstant, msBetween } from '../env/instant.js';
import type { Node } from '../model/kinds/node.js';
import type { Objects } from '../model/ports.js';
import {
  type BrakeRules,
  type Brakes,
  brakesOf,
  type BrakeState,
  type NodeSilence,
  type OfLate,
  strength,
  usualBrakes,
} from './brakes.js';
import type { FreshnessObserver } from './freshness-observer.js';
import { usualFreshness } from './node-freshness.js';

// Looking at every node takes a while where there are many; brakes need not be newer.
const keptMs = 1_000;

/**
 * [L8] Nodes that fall silent together are not found so at the same moment. Nothing is given up for a silence shorter than
 * this: after it each of the others was either heard of when this one was late already, or counts as silent itself.
 */
export const judgedTogetherMs = 2 * usualFreshness.suspectMsMost + keptMs;

/** The brakes as this process sees the nodes. */
export class BrakeObserver {
  // What each brake was last asked for, unless that was less than what it was asked for `lingerMs` before.
  readonly #asked = new Map<string, { readonly state: BrakeState; readonly at: MonotonicInstant }>();
  #last: { readonly brakes: Brakes; readonly at: MonotonicInstant } | undefined;

  constructor(
    private readonly parts: {
      readonly objects: Pick<Objects, 'get'>;
      readonly freshness: Pick<FreshnessObserver, 'nodes' | 'look'>;
      readonly env: Env;
      readonly rules?: BrakeRules;
    },
  ) {}

  /** Silence from before `notBefore` does not count: a leader knows only what it has seen as one. */
  now(notBefore?: MonotonicInstant): Brakes {
    const at = this.parts.env.clock.monotonic();
    if (this.#last !== undefined && msBetween(this.#last.at, at) < keptMs) return this.#last.brakes;
    const { rules = usualBrakes } = this.parts;
    const brakes = brakesOf(this.#nodes(notBefore), rules, this.#ofLate(at, rules));
    this.#last = { brakes, at };
    return brakes;
  }

  /** How long until the silence of a node can be judged together with that of the others; 0: it can. */
  settlesMs(node: string, notBefore?: MonotonicInstant): number {
    const look = this.parts.freshness.look(node, notBefore);
    return look === undefined ? 0 : Math.max(0, judgedTogetherMs - look.silentMs);
  }

  #ofLate(at: MonotonicInstant, { lingerMs }: BrakeRules): OfLate {
    return (name, asked) => {
      const before = this.#asked.get(name);
      const lingers = before !== undefined && msBetween(before.at, at) < lingerMs;
      if (lingers && strength[before.state] > strength[asked]) return before.state;
      this.#asked.set(name, { state: asked, at });
      return asked;
    };
  }

  *#nodes(notBefore: MonotonicInstant | undefined): Generator<NodeSilence> {
    const { objects, freshness } = this.parts;
    for (const name of freshness.nodes()) {
      const look = freshness.look(name, notBefore);
      const node = objects.get<Node>('Node', undefined, name);
      // A node that was deleted is missed by nobody, nor is one that was drained: it may have been switched off.
      if (look === undefined || node === undefined || node.status?.drain?.state === 'Complete') continue;
      const { region = 'local', zone = 'local' } = node.spec;
      // One that was silent under the last leader is silent until it is heard of: a brake outlives who put it on.
      const isWell = look.verdict === 'Fresh' && (look.isHeard || node.status?.reachability === 'Fresh');
      yield { region, zone, silentMs: isWell ? undefined : look.silentMs };
    }
  }
}
