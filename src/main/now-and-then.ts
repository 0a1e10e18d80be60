import type { Env } from '../env/env.js';
import { isBerthError } from '../model/errors.js';

/** Does something every so often until the signal aborts. What fails is told, and tried again the next time. */
export async function nowAndThen(
  { env, signal, onDefect }: { env: Env; signal: AbortSignal; onDefect: (error: unknown) => void },
  everyMs: number,
  work: () => Promise<unknown>,
): Promise<void> {
  while (!signal.aborted) {
    await env.sleep(everyMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      await work();
    } catch (error) {
      // A store that is away is no defect, and whoever writes to it hears of it.
      if (!isBerthError(error, 'StoreUnavailable')) onDefect(error);
    }
  }
}
