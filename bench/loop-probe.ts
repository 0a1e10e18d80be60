import { PerformanceObserver } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';
import { onCoreClock } from './on-core.js';

/**
 * Loaded into a server with --import, it says how long the longest synchronous stretch of the main thread was. A
 * stretch is counted in the time that the thread was on a core, and what the collector of garbage took of it is told
 * apart.
 */
export interface Stretches {
  readonly longestMs: number;
  /** The longest, without what garbage collection took. */
  readonly longestOwnMs: number;
  readonly longestCollectionMs: number;
}

interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
  readonly onCoreMs: number;
}

const keptMax = 200;

if (isMainThread && process.send !== undefined) {
  const onCoreMs = onCoreClock();
  let stretches: Stretch[] = [];
  let collections: { readonly startTime: number; readonly duration: number }[] = [];
  let last = { atMs: performance.now(), onCoreMs: onCoreMs() };
  // The shortest timer there is: whatever ran between two of its turns ran without a break, or nearly.
  setInterval(() => {
    const now = { atMs: performance.now(), onCoreMs: onCoreMs() };
    const stretch = { fromMs: last.atMs, toMs: now.atMs, onCoreMs: now.onCoreMs - last.onCoreMs };
    last = now;
    if (stretch.onCoreMs < 2) return;
    stretches.push(stretch);
    if (stretches.length > 2 * keptMax)
      stretches = stretches.toSorted((a, b) => b.onCoreMs - a.onCoreMs).slice(0, keptMax);
  }, 1).unref();
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) collections.push({ startTime, duration });
  }).observe({ entryTypes: ['gc'] });

  const read = (): Stretches => {
    // A collection is told in time that passed, so only the share of it in which the thread was on a core is taken off.
    const collectedMs = ({ fromMs, toMs, onCoreMs: ranMs }: Stretch): number => {
      const within = collections.filter(({ startTime }) => startTime >= fromMs && startTime < toMs);
      const passedMs = within.reduce((sum, { duration }) => sum + duration, 0);
      return passedMs * Math.min(1, ranMs / (toMs - fromMs));
    };
    return {
      longestMs: Math.max(0, ...stretches.map((stretch) => stretch.onCoreMs)),
      longestOwnMs: Math.max(0, ...stretches.map((stretch) => stretch.onCoreMs - collectedMs(stretch))),
      longestCollectionMs: Math.max(0, ...collections.map(({ duration }) => duration)),
    };
  };
  process.on('message', (wanted) => {
    // Later: what the collector did is told a turn or two after.
    if (wanted === 'read') setTimeout(() => process.send?.(read()), 50);
    stretches = wanted === 'start' ? [] : stretches;
    collections = wanted === 'start' ? [] : collections;
  });
  process.channel?.unref();
}
