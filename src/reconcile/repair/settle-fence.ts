import type { StoredFence } from '../../model/records.js';
import type { Acting } from '../runtime/acting.js';
import { FirstSeen } from '../runtime/first-seen.js';

const lookMs = 1_000;

/** Lowers the fence window to what was asked for, once all that was permitted for longer has run out. */
export async function settleFence(
  acting: Acting,
  fence: () => Partial<StoredFence>,
  signal: AbortSignal,
): Promise<void> {
  const { authority, actor, env } = acting;
  const seen = new FirstSeen(env);
  while (!signal.aborted) {
    const { windowSecondsNext, windowSeconds = 0, operation = '' } = fence();
    seen.retain('fence', windowSecondsNext === undefined ? [] : [operation]);
    if (windowSecondsNext !== undefined) {
      const stoodSeconds = seen.ageMs('fence', operation) / 1_000;
      if (stoodSeconds >= windowSeconds)
        // What is not done is due again at the next look.
        await authority.settleFence({ actor, operation, stoodSeconds }).catch(() => undefined);
    }
    await env.sleep(lookMs, signal).catch(() => undefined);
  }
}
