import type { Amount } from '../model/amount.js';
import type { ReplicaRef } from '../model/ports.js';
import type { Epoch } from '../model/records.js';

/**
 * Nodes as preemption looks at them: who is there, what each ranks, and what leaves already. Holds are no occupants:
 * what they have is used, and nobody is asked to give it back.
 */

/** A replica that is charged on a node. */
export interface Occupant {
  readonly replica: ReplicaRef;
  /** `TENANT/WORKLOAD`. */
  readonly workload: string;
  /** What it weighs (`rankWeight`). */
  readonly rank: number;
  readonly isBorrowed: boolean;
  readonly amount: Amount;
  readonly ports: readonly number[];
  /** The fence of its binding: the larger, the younger. */
  readonly born: number;
  /** What a hold that stands gets of it when it ends. */
  readonly awaited?: Amount;
}

export interface OccupiedNode {
  readonly name: string;
  readonly nodeEpoch: Epoch;
  /** Where all else is equal the smallest wins. A number below 2 ** 32, the same as long as the seed is. */
  readonly tie: number;
  readonly allocatable: Amount;
  readonly used: Amount;
  /** The uid that has each port that is claimed. */
  readonly portOwners: Readonly<Record<string, string>>;
  /** Those that may be asked to leave, the lowest rank first. Neither those of which nobody knows whether they run. */
  readonly running: readonly Occupant[];
  readonly steps: readonly RankStep[];
  /** Those that were asked to leave already and have not ended. */
  readonly leaving: readonly Occupant[];
}

/** What all that run up to a rank have together. */
export interface RankStep {
  readonly rank: number;
  readonly cpuMilli: number;
  readonly memoryBytes: number;
}

/** For each rank among those that run, the lowest first: a few numbers that tell most nodes apart from useful ones. */
export function rankSteps(running: readonly Occupant[]): readonly RankStep[] {
  const steps: RankStep[] = [];
  let cpuMilli = 0;
  let memoryBytes = 0;
  for (const [index, { rank, amount }] of running.entries()) {
    cpuMilli += amount.cpuMilli ?? 0;
    memoryBytes += amount.memoryBytes ?? 0;
    if (running[index + 1]?.rank !== rank) steps.push({ rank, cpuMilli, memoryBytes });
  }
  return steps;
}

/** The same node with others on it. */
export const withOccupants = (
  node: OccupiedNode,
  others: Pick<OccupiedNode, 'used' | 'running' | 'leaving'>,
): OccupiedNode => ({ ...node, ...others, steps: rankSteps(others.running) });

/** One that looks for a place where others are. */
export interface Preemptor {
  /** `TENANT/WORKLOAD`. */
  readonly workload: string;
  /** What its charge would weigh. */
  readonly rank: number;
  readonly isGuaranteed: boolean;
  readonly amount: Amount;
  /** Ports that it asks for by number. */
  readonly ports: readonly number[];
}

/**
 * Whether it may be a victim at all. Never one of the same workload: to end one replica for another of its kind helps
 * nobody, and replacing old revisions by new ones is the rollout's, within its own limits.
 */
export const isBelow = (occupant: Occupant, preemptor: Preemptor): boolean =>
  occupant.rank < preemptor.rank &&
  occupant.awaited === undefined &&
  occupant.workload !== preemptor.workload;

/** Whether its eviction for this preemptor must leave its workload within its limit. A guarantee is reclaimed regardless. */
export const obeysLimit = (occupant: Occupant, preemptor: Preemptor): boolean =>
  !(preemptor.isGuaranteed && occupant.isBorrowed);
