import { describe, expect, it } from 'vitest';
import { mutantNames, runMutants } from './run-mutants.js';
import { runSeed } from './run-seed.js';
import { fence } from './scenarios/fence.js';
import { swarm } from './scenarios/swarm.js';
import { shrink } from './shrink.js';

describe('defects in the authority', () => {
  it('are at least thirty, each a check without another one behind it', () => {
    expect(mutantNames.length).toBeGreaterThanOrEqual(30);
  });

  // A few that are noticed at once; `berth simulate --mutants` tries all of them.
  it.each([
    'bind.devices',
    'bind.quota',
    'post.node.used',
    'post.tenant.used',
    'unpost.node',
    'bind.residency',
    'forget.ended',
    'owner.lease.take',
  ] as const)(
    'are noticed: %s',
    async (mutant) => {
      for await (const { caughtBy } of runMutants([swarm, fence], { seedsMax: 12, only: [mutant] }))
        expect(caughtBy).toMatch(/^S/);
    },
    120_000,
  );

  it('are none in the authority as it is', async () => {
    expect((await runSeed(swarm, { seed: 0, isSafetyOnly: true })).violations).toEqual([]);
  }, 60_000);

  it('do not make a seed shrink that does not fail', async () => {
    expect(await shrink({ ...swarm, chaosMs: 5_000, settleMs: 100_000 }, 3)).toBeUndefined();
  }, 60_000);
});
