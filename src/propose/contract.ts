import type { Amount } from '../model/amount.js';
import type { DecisionSpec } from '../model/kinds/decision.js';
import type { ReplicaRef } from '../model/ports.js';
import type { Epoch } from '../model/records.js';
import type { Reason } from '../model/reasons.js';
import type { ParkReason } from './queue/cures.js';

/**
 * What the parts of the scheduler say to each other. The core is pure: a cell as it was seen, a turn of the queue, a
 * policy and a seed go in; placements, plans, waits and a decision come out. The shell sends them to the authority.
 *
 * Invariants:
 * - The same inputs give the same result, also when the cell holds only those nodes that were chosen or came next:
 *   a score is a property of one node and the class, never relative to other nodes, and ties are broken by a hash of
 *   seed and node name. So a decision can be run again offline from a small part of its inputs.
 * - A core never waits and never writes. What it has placed in this turn, and what is on its way to the authority, it
 *   assumes: both are charged to its own view until the cell shows them or they were refused.
 */

/** Replicas of one WorkloadRevision are one class: filtered and scored once. `TENANT/REVISION`. */
export type ClassKey = string;

/** A replica that waits to be placed. */
export interface PendingReplica extends ReplicaRef {
  readonly classKey: ClassKey;
  readonly workload: string;
  readonly slot: string;
  readonly gang?: string;
  /** On the scheduler's own clock, since when it waits; first come, first served inside a tenant. */
  readonly sinceMs: number;
}

/** What the queue hands out at a time: replicas of one class, in order. */
export interface Turn {
  readonly classKey: ClassKey;
  readonly replicas: readonly PendingReplica[];
}

/** When a turn is taken. */
export interface TurnMoment {
  /** The resourceVersion that the cell stands at, and how old that is. */
  readonly version: string;
  readonly ageMs: number;
  /** Whether there is time left to look for room that others could make. Always in virtual time: nothing is cut there. */
  readonly mayGoOn: () => boolean;
}

/** A node for a replica. */
export interface Placement {
  readonly replica: PendingReplica;
  readonly node: string;
  readonly nodeEpoch: Epoch;
  /** Devices by class, where it matters which. */
  readonly devices?: Readonly<Record<string, readonly string[]>>;
}

/** A node for a replica once these have left it. Each ranks strictly below the replica. */
export interface PreemptionPlan extends Placement {
  readonly victims: readonly ReplicaRef[];
  readonly frees: Amount;
}

/** A replica that found no place, and the one reason that is told. */
export interface Wait {
  readonly replica: PendingReplica;
  readonly reason: ParkReason;
  readonly message: string;
  /** All reasons that rejected nodes, or the class as a whole: what it is parked under. */
  readonly reasons: readonly ParkReason[];
}

/** One decision per class and cycle, before the authority has answered. */
export interface TurnResult {
  readonly placements: readonly Placement[];
  readonly plans: readonly PreemptionPlan[];
  readonly waits: readonly Wait[];
  /** There was no time to find out who could make room for these: they go on in the next turn. */
  readonly later: readonly PendingReplica[];
  readonly decision: DecisionDraft;
}

/** A Decision without what only the shell knows: who decided, under which epoch, when, and what came of it. */
export type DecisionDraft = Omit<DecisionSpec, 'at' | 'scheduler' | 'server' | 'choices'>;

/** What one filter says of one node. */
export interface Verdict {
  /** The name of the filter. */
  readonly filter: string;
  readonly reason?: Reason;
  /** For people: what is asked for and what is there. */
  readonly message?: string;
  readonly passes: boolean;
}

/** How long ago a node was last heard of, on the scheduler's own clock; undefined if it never was. */
export type NodeAgeMs = (node: string) => number | undefined;
