import { describe, expect, it } from 'vitest';
import { fenceContract } from '../../model/fence-contract.js';
import { type FenceTermName, fenceTermNames, wholeFence } from '../fence-terms.js';
import { runSeed } from '../run-seed.js';
import { fenceEdge } from '../scenarios/fence-edge.js';
import { type EdgeConditions, worstEdge } from './edge-conditions.js';
import { noFaults } from './fault-plan.js';
import { FenceEdge } from './fence-edge.js';
import { World } from './world.js';

async function slackMs(
  more: Partial<EdgeConditions> = {},
  without?: FenceTermName,
): Promise<number | undefined> {
  const world = new World({
    ...{ seed: 1, plan: noFaults },
    ...(without !== undefined && { mutant: { kind: 'fenceTerm', name: without } }),
  });
  const edge = new FenceEdge(world, { ...worstEdge, ...more });
  await world.time.run(400_000);
  expect(world.violations.length > 0).toBe((edge.slackMs ?? 0) < 0);
  return edge.slackMs;
}

const toldLate = { isAgentGone: false, toldBeforeEndMs: 500 };

describe('[S5] the worst that the fence has to bear, with the smallest window', () => {
  it('the job has ended when its successor begins, and not much earlier: no term is more than it must be', async () => {
    const slack = await slackMs();
    expect(slack).toBeGreaterThanOrEqual(0);
    expect(slack).toBeLessThan(50);
  });

  it('also if the machine was suspended meanwhile; told when the permit has nearly ended, it never begins', async () => {
    expect(await slackMs({ suspendedMs: 40_000 })).toBeGreaterThanOrEqual(0);
    expect(await slackMs(toldLate)).toBeUndefined();
  });

  // What these two are for happens in other conditions than the worst.
  const elsewhere: readonly FenceTermName[] = ['fence.grace', 'fence.bootTime'];
  it.each(fenceTermNames.filter((name) => !elsewhere.includes(name)))(
    'without %s the two overlap',
    async (term) => {
      expect(await slackMs({}, term)).toBeLessThan(0);
    },
  );

  it('without the grace a job that is told late begins, and overlaps', async () => {
    const slack = await slackMs(toldLate, 'fence.grace');
    expect(slack).toBeLessThan(0);
    expect(slack).toBeGreaterThan(-60_000);
  });

  it('on a clock that does not count suspend the two overlap', async () => {
    expect(await slackMs({ suspendedMs: 40_000 }, 'fence.bootTime')).toBeLessThan(0);
  });

  it('the usual window has room beyond the smallest', () => {
    expect(fenceContract.windowSeconds).toBeGreaterThan(wholeFence.windowSeconds);
  });

  it('no seed of all that it has to bear makes the two overlap', async () => {
    for (let seed = 0; seed < 40; seed++)
      expect((await runSeed(fenceEdge, { seed, isSafetyOnly: true })).violations).toEqual([]);
  }, 120_000);
});
