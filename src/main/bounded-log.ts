import type { Env } from '../env/env.js';
import { msBetween } from '../env/instant.js';
import { TokenBucket } from '../env/token-bucket.js';
import type { Log } from './log.js';

const rate = { perSecond: 1, burst: 20 };

/**
 * A log that leaves events out past a rate, for each component on its own: an outage must not fill a disk. The next event
 * of the component says how many were left out.
 */
export function boundedLog(log: Log, env: Env): Log {
  const startedAt = env.clock.monotonic();
  const components = new Map<string, { readonly bucket: TokenBucket; leftOut: number }>();
  return (event) => {
    const { component, fields } = event;
    const state = components.get(component) ?? { bucket: new TokenBucket(rate, 0), leftOut: 0 };
    components.set(component, state);
    if (!state.bucket.take(msBetween(startedAt, env.clock.monotonic()))) {
      state.leftOut += 1;
      return;
    }
    const { leftOut } = state;
    state.leftOut = 0;
    log(leftOut === 0 ? event : { ...event, fields: { ...fields, leftOut } });
  };
}
