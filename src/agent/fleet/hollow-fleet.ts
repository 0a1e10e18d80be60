import type { Env, Timer } from '../../env/env.js';
import type { NodeStreams } from '../../model/node-stream.js';
import { HollowDriver } from '../drivers/hollow.js';
import { NodeSession } from '../node-session.js';
import { Wheel } from '../wheel.js';
import { laggingStreams } from './lagging-streams.js';
import type { FleetNode } from './read-fleet.js';

export interface HollowFleetParts {
  readonly streams: NodeStreams;
  readonly env: Env;
  readonly version: string;
  readonly nodes: readonly FleetNode[];
  readonly onProblem: (node: string, message: string) => void;
}

// So many nodes begin at once, so often: a fleet of thousands comes within seconds and does not flood the authority.
const startedAtOnce = 100;
const startEveryMs = 100;

/** Thousands of nodes in one process: a session each, one wheel for all of them. */
export class HollowFleet {
  readonly #sessions: readonly NodeSession[];
  readonly #wheel: Wheel;
  #timer: Timer | undefined;

  constructor(private readonly parts: HollowFleetParts) {
    const { env, version, nodes, onProblem } = parts;
    const wheel = (this.#wheel = new Wheel(env));
    this.#sessions = nodes.map(({ offer, profile, leaseSeconds }) => {
      const driver = new HollowDriver({
        ...{ profile, wheel, env, believesTold: true },
        random: env.random,
      });
      return new NodeSession({
        ...{ driver, env, wheel },
        streams: laggingStreams(parts.streams, profile.lagSeconds, { env, wheel }),
        offer: {
          ...offer,
          // Nothing ever runs there, whatever was lost.
          journal: 'hollow',
          agent: { version, drivers: ['hollow'], fencing: driver.canFence ? 'Supported' : 'Unsupported' },
        },
        ...(leaseSeconds !== undefined && { leaseSeconds }),
        onProblem: (message) => onProblem(offer.node, message),
      });
    });
  }

  /** How many nodes are heard by the control plane now. */
  get open(): number {
    return this.#sessions.filter(({ isOpen }) => isOpen).length;
  }

  start(from = 0): void {
    for (const session of this.#sessions.slice(from, from + startedAtOnce)) session.start();
    if (from + startedAtOnce >= this.#sessions.length) return;
    this.#timer = this.parts.env.after(startEveryMs, () => this.start(from + startedAtOnce));
  }

  close(): void {
    this.#timer?.cancel();
    for (const session of this.#sessions) session.close();
    this.#wheel.close();
  }
}
