import type { Env } from '../env/env.js';
import { type MonotonicInstant, msBetween } from '../env/instant.js';
import { BerthError, isBerthError } from '../model/errors.js';
import type { BerthObject } from '../model/object.js';
import { type Change, KnownObjects } from './known-objects.js';
import { askedWaitMs, backoffMs, mayPass, type RetryPolicy } from './retry-policy.js';

/** An event of one watch connection. */
export type WatchEvent<T extends BerthObject = BerthObject> =
  | Change<T>
  | { readonly type: 'BOOKMARK'; readonly version: number };

export interface WholeList<T extends BerthObject = BerthObject> {
  readonly items: readonly T[];
  readonly version: number;
}

/** A change, or the word that all there was when the list was made has now been told. */
export type FollowEvent<T extends BerthObject = BerthObject> =
  | Change<T>
  | { readonly type: 'SYNCED'; readonly version: number };

/** Where the objects come from. The client makes one for a kind. */
export interface FollowSource<T extends BerthObject> {
  /** All objects, not older than a version. */
  list(notOlderThan: number): Promise<WholeList<T>>;
  /** Changes after a version, until the connection ends, well or badly. */
  watch(after: number): AsyncIterable<WatchEvent<T>>;
}

/**
 * Tells what there is, then every change, for as long as anybody listens. A cut watch goes on at the last
 * version that was told; when the server no longer has that (Expired), the difference to a new list
 * is told instead. Ends when the signal aborts; throws only what trying again cannot cure.
 */
export async function* listThenWatch<T extends BerthObject>(
  parts: { readonly env: Env; readonly policy: RetryPolicy; readonly onFailure?: (error: unknown) => void },
  source: FollowSource<T>,
  signal: AbortSignal,
): AsyncGenerator<FollowEvent<T>, void> {
  const { env, policy } = parts;
  const known = new KnownObjects<T>();
  let needsList = true;
  let failures = 0;
  for (;;) {
    let failure: unknown;
    let isAlive = false;
    let watchBegunAt: MonotonicInstant | undefined;
    try {
      if (needsList) {
        const { items, version } = await source.list(known.resumeAfter);
        yield* known.relisted(items, version);
        needsList = false;
        yield { type: 'SYNCED', version };
      }
      watchBegunAt = env.clock.monotonic();
      for await (const event of source.watch(known.resumeAfter)) {
        isAlive = true;
        policy.budget.earn();
        if (event.type === 'BOOKMARK') known.bookmarked(event.version);
        else {
          const change = known.seen(event);
          if (change !== undefined) yield change;
        }
      }
    } catch (error) {
      failure = error;
    }
    if (signal.aborted) return;
    if (failure !== undefined) {
      parts.onFailure?.(failure);
      if (isBerthError(failure, 'Expired')) needsList = true;
      else if (!mayPass(failure)) throw asError(failure);
    }
    // A watch that was quiet for long is as good as one that brought something; one that ends at once is not.
    const lastedMs = watchBegunAt === undefined ? 0 : msBetween(watchBegunAt, env.clock.monotonic());
    const isHealthy = isAlive || lastedMs >= policy.backoffMsMax;
    if (isHealthy) failures = 0;
    const isFree = isHealthy && failure === undefined;
    // With the budget spent nobody is told to give up, only to wait as long as the policy allows.
    const patience = isFree || policy.budget.take() ? failures : Number.POSITIVE_INFINITY;
    const pauseMs = Math.max(backoffMs(policy, patience, env.random), askedWaitMs(policy, failure));
    failures += 1;
    try {
      await env.sleep(pauseMs, signal);
    } catch {
      return;
    }
  }
}

const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new BerthError('InternalError', String(thrown));
