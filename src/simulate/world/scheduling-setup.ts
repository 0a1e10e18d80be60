import type { Node } from '../../model/kinds/node.js';
import type { Plugin } from '../../propose/plugin.js';

/** How the schedulers of a world are started. */
export interface SchedulingSetup {
  readonly shards: number;
  /** How often they try everything that is parked; Infinity: never, so that a missing wake-up is for good. */
  readonly sweepEveryMs?: number;
  readonly plugins: readonly Plugin[];
  /** Whether the filters of the plugins accept a node, for the checkers. */
  readonly accepts: (node: Node) => boolean;
}

export const usualScheduling: SchedulingSetup = { shards: 2, plugins: [], accepts: () => true };
