import { describe, expect, it } from 'vitest';
import type { Replica } from '../model/kinds/replica.js';
import { victimsWeightMax } from '../model/victims-bound.js';
import { answer, done, openTestCell, refOf, type WorkloadOptions } from './test-cell.fixture.js';

/** A node that is full of small replicas of `borrower`, each of a workload of its own. */
async function crowded(count: number) {
  const cell = await openTestCell({ isAudited: false });
  await cell.tenant('lender', { guaranteed: { cpu: '30' } });
  await cell.tenant('borrower');
  const offer = { cpu: String(count / 10), memory: '64Gi' };
  await cell.node('n1', { capacity: offer, allocatable: offer });
  const victims: Replica[] = [];
  for (let index = 0; index < count; index++) {
    const victim = await cell.incarnate(await cell.workload('borrower', `small-${index}`, { cpu: '100m' }));
    done(await cell.bind(victim, 'n1'));
    victims.push(victim);
  }
  const reclaim = async (cpu: string, named: number, options: WorkloadOptions = {}) => {
    const mine = await cell.workload('lender', `mine-${named}`, { cpu }, options);
    const preempting = { intent: 'Preemption', victims: victims.slice(0, named).map(refOf) } as const;
    return answer(await cell.reserve(await cell.incarnate(mine), 'n1', preempting));
  };
  return { cell, victims, reclaim };
}

describe('a hold that many make room for', () => {
  it('[L10] a guarantee is reclaimed from as many small borrowers as one transaction carries, and no more', async () => {
    const { cell, victims, reclaim } = await crowded(100);
    expect(await reclaim('9700m', 97)).toBe(
      'TooManyVictims: 97 would have to leave n1 for mine-97-0-1, more than one transaction carries',
    );
    expect(await reclaim('9600m', victimsWeightMax)).toBe('Committed');
    expect((await cell.status(victims[95] as Replica)).stage).toBe('Releasing');
    expect((await cell.status(victims[96] as Replica)).stage).toBe('Bound');
  });

  it('those whose workload has a say weigh more: their number is refused, never too large for a transaction', async () => {
    const { cell, reclaim } = await crowded(25);
    const high = { priorityClassName: 'high' };
    await cell.set('Tenant', 'lender', { guaranteed: {} });
    done(await cell.grant('lender'));
    expect(await reclaim('2500m', 25, high)).toMatch(/^TooManyVictims: 25 /);
    expect(await reclaim('2400m', 24, high)).toBe('Committed');
  });
});
