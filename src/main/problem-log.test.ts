import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../env/virtual.js';
import { BerthError } from '../model/errors.js';
import { ProblemLog } from './problem-log.js';

function logged(act: (log: ProblemLog, sleep: (ms: number) => Promise<void>) => Promise<void> | void) {
  const world = new VirtualTime({ seed: 1 });
  const lines: string[] = [];
  const defects: unknown[] = [];
  world.spawn(world.machine('m'), 'log', async (env) => {
    const log = new ProblemLog({
      env,
      onLine: (line) => lines.push(line),
      onDefect: (error) => defects.push(error),
    });
    await act(log, (ms) => env.sleep(ms));
  });
  return world.run(3_600_000).then(() => ({ lines, defects }));
}

describe('what controllers meet', () => {
  it('is told in one line each, with the controller and the key', async () => {
    const { lines } = await logged((log) => {
      log.report({ controller: 'workload', key: 'fraud/web', message: 'SlotTaken:\n  two' });
      log.report({ controller: 'grant-controller', key: '', message: 'gives up leading' });
    });
    expect(lines).toEqual(['workload fraud/web: SlotTaken: two', 'grant-controller: gives up leading']);
  });

  it('is bounded: what is left out is counted and told with the next line', async () => {
    const { lines } = await logged(async (log, sleep) => {
      for (let n = 0; n < 1_000; n++) log.report({ controller: 'c', key: `k${n}`, message: 'no' });
      await sleep(1_000);
      log.report({ controller: 'c', key: 'late', message: 'no' });
    });
    expect(lines).toHaveLength(21);
    expect(lines.at(-1)).toBe('c late: no (980 more were left out)');
  });

  it('is a defect only where its cause is no error of the table', async () => {
    const defect = new TypeError('x is undefined');
    const { defects } = await logged((log) => {
      log.report({ controller: 'c', key: 'k', message: 'm', cause: new BerthError('Conflict', 'old') });
      log.report({ controller: 'c', key: 'k', message: 'm', cause: defect });
    });
    expect(defects).toEqual([defect]);
  });
});
