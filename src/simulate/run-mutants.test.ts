import { describe, expect, it } from 'vitest';
import { controllerDefectNames } from './controller-defects.js';
import { fenceTermNames } from './fence-terms.js';
import { mutants, mutantsNamed } from './mutant.js';
import { trialOf } from './mutant-trials.js';
import { runMutants } from './run-mutants.js';
import { runSeed } from './run-seed.js';
import { swarm } from './scenarios/swarm.js';
import { shrink } from './shrink.js';
import { wakeDefectNames } from './wake-defects.js';
import { watchDefectNames } from './watch-defects.js';

describe('defects put in on purpose', () => {
  it('are at least thirty checks of the authority without another one behind it, each term of the fence, controllers that count wrongly, watches that leave out changes, and schedulers that forget to wake', () => {
    const names = mutants.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(mutants.filter(({ kind }) => kind === 'check').length).toBeGreaterThanOrEqual(30);
    expect(mutants.filter(({ kind }) => kind === 'fenceTerm').map(({ name }) => name)).toEqual(
      fenceTermNames,
    );
    expect(mutants.filter(({ kind }) => kind === 'controller').map(({ name }) => name)).toEqual(
      controllerDefectNames,
    );
    expect(mutants.filter(({ kind }) => kind === 'watch').map(({ name }) => name)).toEqual(watchDefectNames);
    expect(mutants.filter(({ kind }) => kind === 'wake').map(({ name }) => name)).toEqual(wakeDefectNames);
  });

  it('can be chosen by name and by group', () => {
    const chosen = mutantsNamed(['fence', 'bind.quota']).map(({ name }) => name);
    expect(chosen).toContain('bind.quota');
    expect(chosen).toContain('fence.sound');
    expect(chosen).toContain('fence.drift');
    expect(chosen).not.toContain('bind.fence');
    expect(mutantsNamed(['drain']).map(({ kind }) => kind)).toContain('controller');
    expect(mutantsNamed(['wake.GateClosed']).map(({ name }) => name)).toEqual([
      'wake.GateClosed.NodeCame',
      'wake.GateClosed.NodeOpened',
    ]);
    expect(mutantsNamed(['fen'])).toEqual([]);
  });

  // A few that are noticed at once, and the fence, which costs little; `berth simulate --mutants` tries all of them.
  it.each([
    'bind.devices',
    'bind.quota',
    'post.node.used',
    'post.tenant.used',
    'unpost.node',
    'bind.residency',
    'forget.ended',
    'owner.lease.take',
    'incarnate.lostCopy',
    'bind.lostCopy',
    'evict.last',
    'gang.expired',
    'epoch.attest.node',
    'epoch.resign.lease',
    'epoch.settleFence.actor',
    'epoch.gate.open',
    'lease.released',
    'owner.lease.node',
    ...fenceTermNames,
    ...controllerDefectNames,
    ...watchDefectNames,
  ])(
    'are noticed: %s',
    async (name) => {
      const trials = mutantsNamed([name])
        .filter((mutant) => mutant.name === name)
        .map(trialOf);
      expect(trials).toHaveLength(1);
      for await (const { caughtBy } of runMutants(trials, { seedsMax: 100 })) expect(caughtBy).toMatch(/^S/);
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
