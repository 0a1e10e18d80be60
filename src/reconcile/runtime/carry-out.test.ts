import { describe, expect, it } from 'vitest';
import { realEnv } from '../../env/real.js';
import type { Authority, Outcome } from '../../model/ports.js';
import type { Reason } from '../../model/reasons.js';
import type { Acting } from './acting.js';
import { carryOut } from './carry-out.js';
import { FakeObjects } from '../../model/fake-objects.fixture.js';
import type { Problem } from './requeue.js';

const committed: Outcome<undefined> = { kind: 'Committed', result: undefined, revision: '1' };
const unknown: Outcome<undefined> = { kind: 'UnknownOutcome', message: 'timed out' };
const rejected = (reason: Reason): Outcome<undefined> => ({
  ...{ kind: 'Rejected', reason, message: 'because', revision: '1' },
});

async function carry(outcomes: readonly Outcome<undefined>[], signal = new AbortController().signal) {
  const problems: Problem[] = [];
  const gaveUp: string[] = [];
  let sent = 0;
  const acting: Acting = {
    objects: new FakeObjects(),
    authority: {} as Authority,
    env: realEnv(),
    report: (problem) => problems.push(problem),
    actor: { kind: 'collector', name: 'x' },
    giveUp: (why) => gaveUp.push(why),
  };
  const operations = outcomes.map((outcome) => () => {
    sent += 1;
    return Promise.resolve(outcome);
  });
  const requeue = await carryOut(acting, 'test', 'k', operations, signal);
  return { requeue, problems, gaveUp, sent };
}

describe('carrying operations out', () => {
  it('is done when all are', async () => {
    const outcomes = Array.from({ length: 40 }, () => committed);
    expect(await carry(outcomes)).toMatchObject({ requeue: { kind: 'done' }, sent: 40, problems: [] });
  });

  it('tries again after a backoff when one was rejected or its outcome is not known, and sends the others', async () => {
    expect(await carry([rejected('SlotTaken'), committed])).toMatchObject({
      requeue: { kind: 'again', reason: 'SlotTaken: because' },
      sent: 2,
    });
    expect((await carry([committed, unknown])).requeue).toEqual({
      kind: 'again',
      reason: 'UnknownOutcome: timed out',
    });
  });

  it('reports what no retry would help, and does not retry it', async () => {
    const { requeue, problems } = await carry([rejected('NotOwner'), committed]);
    expect(requeue).toEqual({ kind: 'done' });
    expect(problems).toEqual([{ controller: 'test', key: 'k', message: 'NotOwner: because' }]);
  });

  it('gives up leading and sends nothing more when its epoch is over', async () => {
    const outcomes = [rejected('StaleEpoch'), ...Array.from({ length: 1_999 }, () => committed)];
    const { gaveUp, sent, requeue } = await carry(outcomes);
    expect(gaveUp).toEqual(['StaleEpoch: because']);
    expect(sent).toBeLessThan(2_000);
    expect(requeue).toEqual({ kind: 'done' });
  });

  it('sends nothing after it was stopped', async () => {
    expect((await carry([committed], AbortSignal.abort())).sent).toBe(0);
  });
});
