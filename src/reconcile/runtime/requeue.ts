/** What becomes of a key after it was reconciled. */
export type Requeue =
  /** Nothing to do until something changes. */
  | { readonly kind: 'done' }
  /** Look again that much later, whatever changes until then. Not a failure: the backoff starts over. */
  | { readonly kind: 'after'; readonly ms: number; readonly reason: string }
  /** It did not work out: look again after a backoff that grows while it goes on not working out. */
  | { readonly kind: 'again'; readonly reason: string };

export const done: Requeue = { kind: 'done' };
export const after = (ms: number, reason: string): Requeue => ({ kind: 'after', ms, reason });
export const again = (reason: string): Requeue => ({ kind: 'again', reason });

/** Receives a key, never an event: it may be called at any time, any number of times. */
export interface Reconciler {
  /** The signal aborts when it should stop at the next good place. */
  reconcile(key: string, signal: AbortSignal): Promise<Requeue>;
}

/** Something a controller met that a person may want to know. */
export interface Problem {
  readonly controller: string;
  readonly key: string;
  readonly message: string;
  readonly cause?: unknown;
  /** Good news: nobody need do anything. */
  readonly level?: 'info';
}

export type ReportProblem = (problem: Problem) => void;
