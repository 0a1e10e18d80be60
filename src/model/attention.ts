/** What needs somebody's attention now, for people and programs: an answer of the port `Explain`. */

/** Broken: something does not work. Degraded: it works with less than it should. Notice: it is as somebody wants it, for now. */
export const severities = ['Broken', 'Degraded', 'Notice'] as const;
export type Severity = (typeof severities)[number];

export interface AttentionItem {
  readonly severity: Severity;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** What it is, as one CamelCase word. */
  readonly reason: string;
  readonly message: string;
  readonly since?: string;
  /** Who has to act next. */
  readonly nextMove: string;
}

export interface Attention {
  /** Worst first. */
  readonly items: readonly AttentionItem[];
  /** So many more are not shown. */
  readonly more: number;
  /** How much was looked at. */
  readonly looked: { readonly nodes: number; readonly workloads: number };
  readonly revision: string;
}
