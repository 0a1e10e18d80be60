import type { Env } from '../env/env.js';
import type { Revision, Store } from '../store/contract.js';

const everyMs = 60_000;

/**
 * Forgets the store's history, and never a part of it that is younger than `historyMs`: as this process counts, so a start
 * begins the count anew. Runs until the signal aborts.
 */
export async function compactHistory(
  {
    store,
    cache,
    env,
    historyMs,
  }: {
    readonly store: Pick<Store, 'compact'>;
    readonly cache: { readonly revision: Revision };
    readonly env: Env;
    readonly historyMs: number;
  },
  signal: AbortSignal,
): Promise<void> {
  // The newest revision of each look, oldest first.
  const seen: Revision[] = [];
  while (!signal.aborted) {
    seen.push(cache.revision);
    if (seen.length > Math.ceil(historyMs / everyMs)) {
      const oldest = seen.shift();
      // A compaction that fails is tried again with the next; history only gets longer meanwhile.
      if (oldest !== undefined && oldest > 0) await store.compact(oldest).catch(() => undefined);
    }
    await env.sleep(everyMs, signal).catch(() => undefined);
  }
}
