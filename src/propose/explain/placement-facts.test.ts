import { describe, expect, it } from 'vitest';
import { monotonicInstant } from '../../env/instant.js';
import { TestPicture } from '../cell.fixture.js';
import { placementFacts } from './placement-facts.js';
import { Stretch } from './stretch.js';

/** Asks about work that fits on none of 200 nodes, on a machine where each look at the clock is so much later. */
async function asked(msPerLook: number) {
  const picture = new TestPicture();
  for (let at = 0; at < 200; at++)
    picture.node(`node-${at}`, { labels: { pool: at % 2 === 0 ? 'gpu' : 'general' } });
  const classKey = picture.workload('web', { cpu: '64' }, { placement: { nodeSelector: { pool: 'gpu' } } });
  let nowMs = 0;
  let pausedAtMs = 0;
  const stretchesMs: number[] = [];
  const stretch = new Stretch({
    clock: { monotonic: () => monotonicInstant((nowMs += msPerLook)) },
    yield: () => {
      stretchesMs.push(nowMs - pausedAtMs);
      pausedAtMs = nowMs;
      return Promise.resolve();
    },
  });
  const options = { ages: () => 0, stretch };
  return { facts: await placementFacts(picture.cell, classKey, 'web-0-1', options), stretchesMs };
}

describe('what the rules say of all nodes', () => {
  it('is asked in short stretches between which others run, also for cures, and the answer is the same', async () => {
    const { facts, stretchesMs } = await asked(0.5);
    expect(stretchesMs.length).toBeGreaterThan(10);
    expect(Math.max(...stretchesMs)).toBeLessThan(8);
    const inOneGo = await asked(0);
    expect(inOneGo.stretchesMs).toEqual([]);
    expect(facts).toEqual(inOneGo.facts);
    expect(facts).toMatchObject({ nodes: 200, isPlaceable: false });
    expect(facts?.cures.length).toBeGreaterThan(0);
  });
});
