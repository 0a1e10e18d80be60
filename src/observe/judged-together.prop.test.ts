import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { monotonicInstant as at, msBetween } from '../env/instant.js';
import { judgedTogetherMs } from './brake-observer.js';
import { brakesOf } from './brakes.js';
import { NodeFreshness, suspectAfterMs, usualFreshness } from './node-freshness.js';

const leaseSeconds = 15;
// How long before the cut each node was heard of, latest first: irregular, as on a machine that is busy.
const history = fc.array(fc.integer({ min: 200, max: 13_000 }), { minLength: 1, maxLength: 8 });
const cutMs = 200_000;

describe('[L8] a zone that falls silent at one moment', () => {
  it('is braked before the silence of any node that was not late already counts for anything', () => {
    fc.assert(
      fc.property(fc.array(history, { minLength: 3, maxLength: 8 }), (gapsOf) => {
        const arrivalsOf = gapsOf.map((gaps) => {
          let ms = cutMs;
          return gaps.map((gap) => at((ms -= gap))).toReversed();
        });
        const freshness = new NodeFreshness(at(0));
        for (const [index, arrivals] of arrivalsOf.entries())
          for (const [nth, arrival] of arrivals.entries())
            freshness.seen(`n${index}`, String(nth), leaseSeconds, arrival);
        for (const arrivals of arrivalsOf) {
          const last = msBetween(at(0), arrivals.at(-1) ?? at(0));
          // It was late while the others were heard of: its silence is its own.
          if (cutMs - last > suspectAfterMs(arrivals, usualFreshness)) continue;
          const now = at(last + judgedTogetherMs);
          const silences = arrivalsOf.map((_, index) => {
            const look = freshness.look(`n${index}`, now);
            const silentMs = look === undefined || look.verdict === 'Fresh' ? undefined : look.silentMs;
            return { region: 'eu', zone: 'a', silentMs };
          });
          expect(brakesOf(silences).at('eu', 'a').state).toBe('Stop');
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
