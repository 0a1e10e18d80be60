import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../../env/virtual.js';
import type { Replica } from '../../model/kinds/replica.js';
import { objectOf } from '../../model/fake-objects.fixture.js';
import { withdrawWaitMs } from '../../model/withdrawal.js';
import { Withdrawals } from './withdrawals.js';

const replica = (status: object): Replica =>
  objectOf('Replica', 't', 'api-0-1', { spec: { workload: 'api' }, status }) as Replica;

describe('Withdrawals', () => {
  it('[L5] hold a stop back until the replica is listed no more, or the wait is over, and no longer', async () => {
    const time = new VirtualTime({ seed: 1 });
    const told: string[] = [];
    const waits = new Withdrawals({
      env: time.machine('server').env,
      onOver: ({ metadata }) => told.push(metadata.name),
    });
    const leaving = replica({ stage: 'Releasing', isListed: true });
    expect(waits.isHeld(replica({ stage: 'Serving', isListed: true }))).toBe(false);
    expect(waits.isHeld(leaving)).toBe(true);
    expect(waits.isHeld(replica({ stage: 'Releasing' }))).toBe(false);
    await time.run(withdrawWaitMs * 2);
    expect(told).toEqual([]);
    expect(waits.isHeld(leaving)).toBe(true);
    await time.run(withdrawWaitMs * 3 + 1);
    expect([told, waits.isHeld(leaving)]).toEqual([['api-0-1'], false]);
    waits.close();
  });

  it('also hold back what its node has to hear when it comes back', () => {
    const waits = new Withdrawals({
      env: new VirtualTime({ seed: 1 }).machine('server').env,
      onOver: () => undefined,
    });
    const intent = { actor: 'drain:x', reason: 'Drained', operation: 'o', at: '2026-01-01T00:00:00Z' };
    expect(waits.isHeld(replica({ stage: 'Unknown', isListed: true }))).toBe(false);
    expect(waits.isHeld(replica({ stage: 'Unknown', isListed: true, intent }))).toBe(true);
  });
});
