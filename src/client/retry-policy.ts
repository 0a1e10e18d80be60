import type { Env } from '../env/env.js';
import { msBetween } from '../env/instant.js';
import type { Random } from '../env/random.js';
import { BerthError, type ErrorCode, errorTable, isBerthError } from '../model/errors.js';

/** How often, how long and how patiently something is tried again. */
export interface RetryPolicy {
  readonly attemptsMax: number;
  /** No attempt begins later than this after the first. */
  readonly deadlineMs: number;
  readonly backoffMsMin: number;
  readonly backoffMsMax: number;
  /** Shared by all that talk to one server, so that their retries together stay a fraction of their requests. */
  readonly budget: RetryBudget;
}

/**
 * What may be spent on retries: each costs one, each success earns a tenth back. When most of what is sent
 * fails, the budget runs dry and attempts fail at once rather than add to the load of a server in trouble.
 */
export class RetryBudget {
  // Invariant: 0 <= left <= max.
  #left: number;

  constructor(private readonly max: number) {
    this.#left = max;
  }

  get left(): number {
    return this.#left;
  }

  take(): boolean {
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }

  earn(): void {
    this.#left = Math.min(this.max, this.#left + 0.1);
  }
}

/** One attempt, as it looks from outside. */
export interface Attempt {
  readonly number: number;
  /** Since the first attempt began. */
  readonly startedAfterMs: number;
  readonly outcome: 'done' | ErrorCode;
}

/** What reading back an attempt with an unknown outcome has shown. */
export type ReadBack<T> = { readonly kind: 'applied'; readonly value: T } | { readonly kind: 'notApplied' };

export interface Operation<T> {
  /** The same for all attempts, so that the other side can tell a second one from a second wish. */
  readonly id: string;
  attempt(id: string): Promise<T>;
  /** Asks what became of an attempt. It is always called before such an attempt is repeated; a failure of it ends all. */
  readBack(id: string): Promise<ReadBack<T>>;
}

/** How it ended: these are the only two ends, and each shows every attempt. */
export type RetryEnd<T> =
  | { readonly kind: 'done'; readonly value: T; readonly attempts: readonly Attempt[] }
  | {
      readonly kind: 'failed';
      readonly error: unknown;
      /** final: trying again cannot help. The others say which bound of the policy was reached. */
      readonly because: 'final' | 'attempts' | 'deadline' | 'budget';
      readonly attempts: readonly Attempt[];
    };

/** The pause before the next attempt: doubled with each failure up to the bound, and half of it left to chance. */
export function backoffMs(
  policy: Pick<RetryPolicy, 'backoffMsMin' | 'backoffMsMax'>,
  failures: number,
  random: Random,
): number {
  const wholeMs = Math.min(policy.backoffMsMax, policy.backoffMsMin * 2 ** Math.min(failures, 30));
  return wholeMs / 2 + random.float() * (wholeMs / 2);
}

/** What the server asks a client to wait, if it does. Never more than the policy's longest pause. */
export function askedWaitMs(policy: Pick<RetryPolicy, 'backoffMsMax'>, error: unknown): number {
  const seconds = isBerthError(error) ? error.details['retryAfterSeconds'] : undefined;
  return typeof seconds === 'number' && seconds > 0 ? Math.min(seconds * 1000, policy.backoffMsMax) : 0;
}

const callerMay = (error: unknown): string =>
  isBerthError(error) ? errorTable[error.code].callerMay : 'never';

/** Whether the same read may succeed later: a read changes nothing, so it needs no reading back. */
export const mayPass = (error: unknown): boolean => ['backoff', 'readBack'].includes(callerMay(error));

/** Tries an operation until it is done, cannot succeed, or the policy says enough. */
export async function retry<T>(
  env: Env,
  policy: RetryPolicy,
  operation: Operation<T>,
  signal?: AbortSignal,
): Promise<RetryEnd<T>> {
  const begunAt = env.clock.monotonic();
  const elapsedMs = (): number => msBetween(begunAt, env.clock.monotonic());
  const attempts: Attempt[] = [];
  const done = (value: T): RetryEnd<T> => {
    policy.budget.earn();
    return { kind: 'done', value, attempts };
  };
  for (let failures = 0; ; failures += 1) {
    const startedAfterMs = elapsedMs();
    let error: unknown;
    try {
      const value = await operation.attempt(operation.id);
      attempts.push({ number: failures + 1, startedAfterMs, outcome: 'done' });
      return done(value);
    } catch (thrown) {
      error = thrown;
    }
    const outcome = isBerthError(error) ? error.code : 'InternalError';
    attempts.push({ number: failures + 1, startedAfterMs, outcome });
    const failed = (because: 'final' | 'attempts' | 'deadline' | 'budget'): RetryEnd<T> => ({
      kind: 'failed',
      error,
      because,
      attempts,
    });
    if (signal?.aborted) return failed('final');
    if (callerMay(error) === 'readBack') {
      try {
        const found = await operation.readBack(operation.id);
        if (found.kind === 'applied') return done(found.value);
      } catch {
        // Still unknown, and what is unknown is never repeated.
        return failed('final');
      }
    } else if (!mayPass(error)) return failed('final');
    if (attempts.length >= policy.attemptsMax) return failed('attempts');
    const pauseMs = Math.max(backoffMs(policy, failures, env.random), askedWaitMs(policy, error));
    if (elapsedMs() + pauseMs > policy.deadlineMs) return failed('deadline');
    if (!policy.budget.take()) return failed('budget');
    try {
      await env.sleep(pauseMs, signal);
    } catch {
      return failed('final');
    }
  }
}

/** The value of an end, or its error with the attempts that led to it. */
export function valueOf<T>(end: RetryEnd<T>): T {
  if (end.kind === 'done') return end.value;
  const { error, attempts, because } = end;
  if (!isBerthError(error) || attempts.length === 1) throw error;
  throw new BerthError(error.code, `${error.message} (after ${attempts.length} attempts)`, {
    cause: error,
    details: { ...error.details, attempts, because },
  });
}
