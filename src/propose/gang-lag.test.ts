import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../env/virtual.js';
import type { NewDecision } from '../model/decisions.js';
import type { Authority, Outcome } from '../model/ports.js';
import { objectKey, statusKey } from '../model/records.js';
import { gangNodeAccount, openGangCell } from './gang-cell.fixture.js';
import { keptIn } from './kept-decisions.fixture.js';
import { GangDriver } from './gang-driver.js';
import { Patience } from './patience.js';
import { allCures } from './queue/cures.js';
import { RetrySender } from './retry-sender.js';

const rejected = (reason: 'GangIncomplete' | 'NodeFull'): Outcome<never> => ({
  ...{ kind: 'Rejected', reason, message: reason, revision: '1' },
});
const ok = { kind: 'Committed', result: { reservation: '', uid: '' }, revision: '1' } as const;

/** A gang of three on three nodes; the authority answers at once, and what it wrote is seen so much later, in order. */
async function runGang(lagMs: number) {
  const world = new VirtualTime({ seed: 1 });
  const machine = world.machine('s');
  const { env } = machine;
  const { records, core, gang } = openGangCell(3, { areFull: false });
  const status = { state: 'Waiting', holds: 0, attempts: 0 };
  const used = new Set<string>();
  const startedMs = world.nowMs;
  let shownMs = 0;
  const show = (entries: Readonly<Record<string, unknown>>): void => {
    shownMs = Math.max(shownMs + 0.5, world.nowMs + lagMs);
    const seen = { ...entries, [statusKey('Gang', 'a', 'train')]: { status: { ...status } } };
    env.after(shownMs - world.nowMs, () => {
      records.put(seen);
      driver.changed('a');
    });
  };
  const authority: Pick<Authority, 'moveGang' | 'reserve' | 'releaseHold'> = {
    moveGang: ({ to }) => {
      if (to === 'Committed' && status.holds < 3) return Promise.resolve(rejected('GangIncomplete'));
      status.state = to;
      if (to === 'Reserving') status.attempts += 1;
      show({});
      return Promise.resolve({ ...ok, result: undefined });
    },
    reserve: ({ replica: { name, uid }, node }) => {
      if (status.state !== 'Reserving') return Promise.resolve(rejected('GangIncomplete'));
      if (used.has(node)) return Promise.resolve(rejected('NodeFull'));
      used.add(node);
      status.holds += 1;
      const hold = `hold-${name}`;
      show({
        [`/a/node/${node}`]: gangNodeAccount(true),
        [objectKey('Reservation', 'a', hold)]: {
          metadata: { name: hold, namespace: 'a', uid: `uid-${hold}` },
          spec: { owner: { kind: 'Replica', name, uid }, intent: 'Gang', node },
        },
        [statusKey('Reservation', 'a', hold)]: { status: { state: 'Held', charge: { node } } },
        [statusKey('Replica', 'a', name)]: { status: { stage: 'Scheduled', hold } },
      });
      return Promise.resolve(ok);
    },
    // A gang that comes together gives nothing back.
    releaseHold: () => Promise.resolve(rejected('GangIncomplete')),
  };
  const clock = { env, nowMs: () => world.nowMs - startedMs };
  const { signal } = new AbortController();
  const decisions: NewDecision[] = [];
  const driver = new GangDriver({
    ...{ authority, records, core, ...clock, onNews: () => undefined, onWait: () => undefined },
    ...{ actor: { kind: 'scheduler', name: 's' }, policyRevision: '1', idPart: 'x', isOwn: () => true },
    ...{ cures: allCures, sweepEveryMs: 60_000, isGuaranteed: () => false },
    snapshotAgeMs: () => 0,
    openDecision: keptIn(decisions),
    sender: new RetrySender({ ...clock, signal, records, patience: new Patience(clock) }),
  });
  for (const member of gang('train', 3)) driver.add(member, 'train');
  world.spawn(machine, 'driver', async () => {
    for (;;) {
      driver.work(world.nowMs - startedMs);
      await env.sleep(1);
    }
  });
  await world.run(startedMs + 30_000);
  return { status, decisions };
}

describe('a gang on records that trail what the authority has answered', () => {
  it.each([0, 5, 30, 300, 3_000])('[L1] [L9] fits, and comes together at once, %i ms late', async (lagMs) => {
    const { status, decisions } = await runGang(lagMs);
    expect(status).toEqual({ state: 'Committed', holds: 3, attempts: 1 });
    const answers = decisions.map(({ spec }) => spec.choices?.map(({ outcome }) => outcome));
    expect(answers).toEqual([['Committed', 'Committed', 'Committed']]);
  });
});
