import type { Node } from '../../model/kinds/node.js';
import type { NodeAccount } from '../../model/records.js';
import type { Plugin } from '../../propose/plugin.js';

/** How the schedulers of a world are started. */
export interface SchedulingSetup {
  readonly shards: number;
  /** How often they try everything that is parked; Infinity: never, so that a missing wake-up is for good. */
  readonly sweepEveryMs?: number;
  readonly plugins: readonly Plugin[];
  /** The verdict of the plugins' filters on a node, for the checkers: see `FitFacts`. */
  readonly accepted: (node: Node, account: NodeAccount) => 'Place' | 'Time' | undefined;
}

export const usualScheduling: SchedulingSetup = { shards: 2, plugins: [], accepted: () => 'Place' };
