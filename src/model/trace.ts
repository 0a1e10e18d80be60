/** One thing that happened to a target or to what it stands on. */
export interface TraceEntry {
  readonly at: string;
  /** `Replica api-0-1`, `Node n1`, `Decision x`. */
  readonly about: string;
  /** What happened: `Bound → Starting`, `Placed`, `Unknown`. */
  readonly what: string;
  readonly actor: string;
  readonly reason: string;
  /** What whoever acted knew. */
  readonly evidence: Readonly<Record<string, string>>;
  /** How long it had been as it was before, for a move from stage to stage. */
  readonly afterMs?: number;
}

export interface Trace {
  /** In the order in which it happened, by the times that the records carry. */
  readonly entries: readonly TraceEntry[];
  /** So many earlier ones are not shown. */
  readonly earlier: number;
  /** Servers whose decisions are missing. */
  readonly unanswered: readonly { readonly server: string; readonly message: string }[];
}
