import type { Env } from '../env/env.js';

/** Runs work that may take so long and no longer; tells whether it came to its end in time. */
export async function within(
  env: Env,
  ms: number,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<'done' | 'timedOut'> {
  const over = new AbortController();
  const timer = env.after(ms, () => over.abort());
  try {
    await work(over.signal);
  } catch (error) {
    if (!over.signal.aborted) throw error;
  } finally {
    timer.cancel();
  }
  return over.signal.aborted ? 'timedOut' : 'done';
}
