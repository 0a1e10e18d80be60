import type { Env } from '../../env/env.js';
import { msBetween, plusMs } from '../../env/instant.js';
import type { NodeStreams } from '../../model/node-stream.js';
import { drawnMs, type SecondsRange } from '../drivers/hollow-profile.js';
import type { Wheel } from '../wheel.js';

/** The same streams, on which what a node says arrives late, and in order. */
export function laggingStreams(
  streams: NodeStreams,
  lag: SecondsRange,
  { env, wheel }: { readonly env: Env; readonly wheel: Wheel },
): NodeStreams {
  if (lag[1] === 0) return streams;
  return {
    register: async (input) => {
      await new Promise<void>((resolve) => {
        wheel.after(drawnMs(lag, env.random), resolve);
      });
      return streams.register(input);
    },
    open: (hello, ears) => {
      const line = streams.open(hello, ears);
      let free = env.clock.monotonic();
      return {
        ...line,
        say: (message) => {
          const now = env.clock.monotonic();
          const drawn = plusMs(now, drawnMs(lag, env.random));
          // Never before what was said earlier.
          free = msBetween(free, drawn) > 0 ? drawn : free;
          wheel.after(msBetween(now, free), () => line.say(message));
        },
      };
    },
  };
}
