import type { FaultKind, FaultPlan } from './world/fault-plan.js';
import type { StaleSort } from './world/stale-operations.js';
import type { World } from './world/world.js';
import type { LivenessRule, SafetyRule, Violation } from './checkers/checker.js';

/** A worked case: who is there, what happens, and what must be true besides the rules. */
export interface Scenario {
  readonly name: string;
  readonly about: string;
  /** How long faults go on, and how long the cell then has to settle. */
  readonly chaosMs: number;
  readonly settleMs: number;
  /** Sets the world up. Returns what is to be asserted at the end: a message for each thing that is not so. */
  readonly begin: (world: World) => () => readonly string[];
  /** The number of consecutive seeds that show every case, where each seed shows one. */
  readonly seedsWhole?: number;
  /** What goes wrong, where it is not left to the seed alone. */
  readonly plan?: (usual: FaultPlan, seed: number) => FaultPlan;
  /** Rules and faults that must have occurred over all seeds of a run; a check that never had anything to check fails. */
  readonly mustCheck: readonly (SafetyRule | LivenessRule)[];
  readonly mustOccur: readonly FaultKind[];
  /** Stale operations that must have been tried and refused, over all seeds of a run. */
  readonly mustRefuse?: readonly StaleSort[];
}

export interface SeedResult {
  readonly scenario: string;
  readonly seed: number;
  readonly virtualMs: number;
  readonly transactions: number;
  readonly commits: number;
  /** How many operations that must never commit were tried and refused. */
  readonly refused: number;
  /** How many operations were refused for nothing but an older epoch, or a released lease. */
  readonly stale: Readonly<Partial<Record<StaleSort, number>>>;
  /** A digest of everything that was committed, when and by whom: the same for the same seed. */
  readonly history: string;
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  readonly checked: Readonly<Partial<Record<SafetyRule | LivenessRule, number>>>;
  readonly violations: readonly (
    | Violation
    | { readonly rule: 'scenario' | 'crash'; readonly revision: number; readonly message: string }
  )[];
}
