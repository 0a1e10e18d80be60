import { describe, expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import type { Actor, ReplicaRef } from '../model/ports.js';
import { Explanations, type Why } from './explanations.js';
import { MapRecords, ScriptedAuthority } from './small-cell.fixture.js';

const actor: Actor = { kind: 'scheduler', name: 's' };
const full: Why = { reason: 'NodeFull', message: 'full' };
const over: Why = { reason: 'QuotaExceeded', message: 'over' };
const ref = (name: string): ReplicaRef => ({ tenant: 'a', name, uid: `uid-${name}` });

function open(names: readonly string[], rate = { perSecond: 1_000, burst: 1_000 }) {
  const records = new MapRecords();
  const authority = new ScriptedAuthority(records);
  for (const name of names) records.queue(name);
  let nowMs = 0;
  const placing = { isPlacing: false };
  const explanations = new Explanations({
    ...{ authority: authority.port, records, env: realEnv(), actor, rate, onNews: () => undefined },
    nowMs: () => nowMs,
    waitingIn: () => names.map(ref),
    isParked: () => true,
    isPlacing: () => placing.isPlacing,
  });
  const drain = async (afterMs = 100): Promise<readonly string[]> => {
    nowMs += afterMs;
    explanations.drain();
    // Answers come in promise turns.
    await new Promise((resolve) => setImmediate(resolve));
    return authority.postponed.splice(0);
  };
  return { records, authority, explanations, drain, placing };
}

describe('Explanations', () => {
  it('[L6] [L9] tell all of a lot why it waits, once, and again only when the reason is another one', async () => {
    const { explanations, drain } = open(['r1', 'r2']);
    explanations.lotWaits('lot', full);
    expect(await drain()).toEqual(['r1 NodeFull', 'r2 NodeFull']);
    explanations.lotWaits('lot', full);
    expect(await drain()).toEqual([]);
    explanations.lotWaits('lot', over);
    expect(await drain()).toEqual(['r1 QuotaExceeded', 'r2 QuotaExceeded']);
  });

  it('[L9] write nothing to a replica that says so already, nor to one that waits no more', async () => {
    const { records, explanations, drain } = open(['r1', 'r2', 'r3']);
    explanations.replicaWaits(ref('r1'), full);
    await drain();
    records.stage('r2', { stage: 'Bound' });
    explanations.lotWaits('lot', full);
    expect(await drain()).toEqual(['r3 NodeFull']);
  });

  it('[L6] tell one that comes to a parked lot what the lot was told, and go through the lot the next time', async () => {
    const { explanations, records, drain } = open(['r1']);
    explanations.lotWaits('lot', full);
    await drain();
    records.queue('r2');
    explanations.joins('lot', ref('r2'));
    expect(await drain()).toEqual(['r2 NodeFull']);
    records.queue('r1');
    explanations.lotWaits('lot', full);
    expect(await drain()).toEqual(['r1 NodeFull']);
  });

  it('[L6] tell everyone who comes to a parked lot, also while it is gone through', async () => {
    const { explanations, records, drain } = open(['r1'], { perSecond: 10, burst: 1 });
    explanations.lotWaits('lot', full);
    for (const name of ['r2', 'r3']) {
      records.queue(name);
      explanations.joins('lot', ref(name));
    }
    expect([await drain(), await drain(), await drain()]).toEqual([
      ['r2 NodeFull'],
      ['r3 NodeFull'],
      ['r1 NodeFull'],
    ]);
    records.queue('r4');
    explanations.joins('lot', ref('r4'));
    expect(await drain()).toEqual(['r4 NodeFull']);
  });

  it('[L8] write no more than the budget allows, go on where they were, and say when', async () => {
    const { explanations, drain } = open(['r1', 'r2', 'r3'], { perSecond: 10, burst: 2 });
    explanations.lotWaits('lot', full);
    expect(await drain(0)).toEqual(['r1 NodeFull', 'r2 NodeFull']);
    expect([await drain(50), explanations.nextDueMs]).toEqual([[], 100]);
    expect([await drain(50), explanations.nextDueMs]).toEqual([['r3 NodeFull'], 200]);
    expect([await drain(100), explanations.nextDueMs]).toEqual([[], undefined]);
  });

  it('[L8] write in rounds, which are further apart while proposals are on their way', async () => {
    const names = Array.from({ length: 200 }, (_, at) => `r${at}`);
    const { explanations, drain, placing } = open(names);
    explanations.lotWaits('lot', full);
    expect(await drain()).toHaveLength(64);
    expect([await drain(50), explanations.nextDueMs]).toEqual([[], 200]);
    expect(await drain(50)).toHaveLength(64);
    placing.isPlacing = true;
    expect([await drain(100), explanations.nextDueMs]).toEqual([[], 700]);
    expect(await drain(400)).toHaveLength(64);
    placing.isPlacing = false;
    expect(await drain()).toHaveLength(8);
  });
});
