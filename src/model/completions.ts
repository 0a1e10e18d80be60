import type { Workload } from './kinds/workload.js';

/** How many slots of a batch have to succeed. */
export const completionsOf = ({ batch, replicas = 1 }: Workload['spec']): number =>
  batch?.completions ?? Math.max(1, replicas);
