/** What a probe over the network asks. */
export interface NetworkQuestion {
  readonly host: string;
  readonly port: number;
  /** A GET of this path; undefined: only whether a connection can be made. */
  readonly path: string | undefined;
  readonly timeoutMs: number;
}

/** Asks over the network: undefined if the answer is good, else what was wrong. Answers once, within the timeout. */
export interface ProbeCaller {
  ask(question: NetworkQuestion, answer: (problem: string | undefined) => void): void;
}
