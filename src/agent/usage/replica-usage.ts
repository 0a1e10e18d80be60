import type { MeasuredUsage } from '../runner.js';

/** What a replica uses and has used on this node. Looked at when somebody asks; nothing of it is stored. */
export interface ReplicaUsage {
  readonly tenant: string;
  readonly workload: string;
  readonly replica: string;
  /** How often it was started again here. */
  readonly restarts: number;
  /** How many of its executions have ended for want of memory, and what of the present one was. */
  readonly oomKills: number;
  /** Of the present execution; undefined while nothing runs, or nothing was measured yet. */
  readonly running: MeasuredUsage | undefined;
}
