import { describe, expect, it } from 'vitest';
import { done } from './open-authority.fixture.js';
import { openTestCell } from './test-cell.fixture.js';

describe('what an agent reports beside a stage', () => {
  it('is kept at the stage where it is, and what is said to be over is gone', async () => {
    const cell = await openTestCell();
    await cell.tenant('shop');
    await cell.node('n1');
    const replica = await cell.incarnate(await cell.workload('shop', 'web'));
    done(await cell.bind(replica, 'n1'));
    done(await cell.report(replica, 'Starting', { step: 'Pulling', message: '3 of 9 MB' }));
    expect(await cell.status(replica)).toMatchObject({ step: 'Pulling', message: '3 of 9 MB' });
    done(await cell.report(replica, 'Starting', { step: 'WaitingForReadiness', message: '' }));
    const waiting = await cell.status(replica);
    expect([waiting.step, 'message' in waiting]).toEqual(['WaitingForReadiness', false]);
    done(await cell.report(replica, 'Ready', { step: '', message: '', executions: 2 }));
    const ready = await cell.status(replica);
    expect(ready).toMatchObject({ stage: 'Ready', executions: 2 });
    expect('step' in ready).toBe(false);
    const lost = { isPassing: false, message: 'answered with 503' };
    done(await cell.report(replica, 'Ready', { readiness: lost }));
    expect(await cell.status(replica)).toMatchObject({ stage: 'Ready', readiness: lost });
    const transitions = (await cell.status(replica)).transitions?.length;
    expect(await cell.report(replica, 'Ready', { readiness: lost, step: '', message: '' })).toMatchObject({
      kind: 'AlreadyCommitted',
    });
    expect((await cell.status(replica)).transitions).toHaveLength(transitions ?? 0);
  });
});
