import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../env/random.js';
import type { JobEnd } from '../driver.js';
import { afterEnd, type RestartRules } from './restart-rule.js';

const service: RestartRules = { type: 'Service', budget: 2, windowMs: 60_000 };
const batch: RestartRules = { ...service, type: 'Batch' };
const after = (end: JobEnd, rules: RestartRules, restartsMs: readonly number[] = [], nowMs = 100_000) =>
  afterEnd(end, rules, restartsMs, nowMs, new SeededRandom('x'));

describe('after an execution has ended', () => {
  it.each<[string, JobEnd, RestartRules, readonly number[], string]>([
    ['a service that exits with 0 is restarted', { reason: 'Exited', exitCode: 0 }, service, [], 'Restart'],
    ['so is one that was killed', { reason: 'Killed' }, service, [90_000], 'Restart'],
    ['and one whose end nobody saw', { reason: 'ExitUnknown' }, service, [], 'Restart'],
    ['and one whose image could not be pulled', { reason: 'ImagePullFailed' }, service, [], 'Restart'],
    ['the budget ends that', { reason: 'OutOfMemory' }, service, [50_000, 90_000], 'RestartBudgetSpent'],
    ['what is past the window does not count', { reason: 'Killed' }, service, [30_000, 90_000], 'Restart'],
    [
      'without a budget the end is its own reason',
      { reason: 'Killed' },
      { ...service, budget: 0 },
      [],
      'Killed',
    ],
    [
      'a command that is not there will not be',
      { reason: 'CommandNotFound' },
      service,
      [],
      'CommandNotFound',
    ],
    ['nor an image', { reason: 'ImageNotFound' }, service, [], 'ImageNotFound'],
    ['what stopped with its agent is restarted', { reason: 'Stopped' }, service, [], 'Restart'],
    ['also a batch', { reason: 'Stopped' }, batch, [], 'Restart'],
    ['that takes nothing from the budget', { reason: 'Stopped' }, { ...service, budget: 0 }, [], 'Restart'],
    ['what was fenced stays so', { reason: 'Fenced' }, service, [], 'Fenced'],
    ['a batch that exits with 0 is done', { reason: 'Exited', exitCode: 0 }, batch, [], 'Completed'],
    ['one that fails is counted by its workload', { reason: 'Exited', exitCode: 3 }, batch, [], 'Exited'],
    ['also if it was found dead', { reason: 'LivenessFailed' }, batch, [], 'LivenessFailed'],
  ])('%s', (_, end, rules, restartsMs, expected) => {
    const next = after(end, rules, restartsMs);
    expect(next.kind === 'Exit' ? next.end.reason : next.kind).toBe(expected);
  });

  it('the pauses grow, by chance between half and all, and the restarts are remembered', () => {
    const rules = { ...service, budget: 50 };
    let restartsMs: readonly number[] = [];
    const pausesMs: number[] = [];
    for (let exit = 0; exit < 12; exit++) {
      const next = after({ reason: 'Killed' }, rules, restartsMs);
      if (next.kind !== 'Restart') throw new Error('it was not restarted');
      pausesMs.push(next.afterMs);
      ({ restartsMs } = next);
    }
    expect(restartsMs).toHaveLength(12);
    for (const [exit, pauseMs] of pausesMs.entries()) {
      const fullMs = Math.min(60_000, 500 * 2 ** exit);
      expect(pauseMs).toBeGreaterThanOrEqual(fullMs / 2);
      expect(pauseMs).toBeLessThanOrEqual(fullMs);
    }
  });

  it('[L6] says how it ended, and how much of the budget is used', () => {
    const restart = after({ reason: 'Exited', exitCode: 7 }, service, [90_000]);
    expect(restart).toMatchObject({ message: 'exited with 7; restart 2 of 2' });
    const spent = after({ reason: 'OutOfMemory', message: 'over 64 MiB' }, service, [80_000, 90_000]);
    expect(spent).toMatchObject({
      end: {
        message: 'OutOfMemory: over 64 MiB; it was restarted 2 times within 60 s, which is all it may be',
      },
    });
  });
});
