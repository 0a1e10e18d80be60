import type { Decision, DecisionSpec } from './kinds/decision.js';

/**
 * The port through which decisions are kept and read. They live outside the main keyspace, on the server whose
 * scheduler made them, for a while; losing the last second of them in a crash is allowed.
 */
export interface Decisions {
  /** A name for the next decision: it names this server, and sorts after all names given before. */
  newName(): string;
  /** Keeps a decision. Never waits and never throws: what cannot be kept is dropped and counted. */
  append(decision: NewDecision): void;
  /** Undefined if it is not kept, or not any more. Throws a BerthError if its server does not answer. */
  get(tenant: string, name: string): Promise<Decision | undefined>;
  /** Newest first. */
  list(query: DecisionQuery): Promise<DecisionPage>;
}

export interface NewDecision {
  /** From `newName`. */
  readonly name: string;
  readonly tenant: string;
  readonly spec: DecisionSpec;
}

/** Which decisions are asked for: those for which all that is named holds. */
export interface DecisionQuery {
  readonly tenant?: string;
  readonly workload?: string;
  /** Those that had a choice to make for this replica. */
  readonly replica?: string;
  /** Those that chose this node, whatever the authority answered. */
  readonly node?: string;
  readonly limit: number;
  /** From the page before. */
  readonly continue?: string;
}

export interface DecisionPage {
  readonly items: readonly Decision[];
  /** There may be more, and this asks for them. */
  readonly continue?: string;
  /** How many follow, where that is known without looking. */
  readonly remaining?: number;
  /** Servers whose decisions are missing here, with the reason. */
  readonly unanswered: readonly { readonly server: string; readonly message: string }[];
}

export interface DecisionLimits {
  /** How long a decision is kept. */
  readonly ageMsMax: number;
  /** How many bytes of decisions are kept; past that the oldest go. */
  readonly bytesMax: number;
}

/** A day is what somebody needs who asks in the morning; at some 4 KiB each, 256 MiB are the last 65,000 decisions. */
export const decisionLimitsDefault: DecisionLimits = { ageMsMax: 24 * 3_600_000, bytesMax: 256 * 1024 ** 2 };
