import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../env/virtual.js';
import { boundedLog } from './bounded-log.js';
import type { Log, LogEvent } from './log.js';

const warning = (component: string): LogEvent => ({ level: 'warn', component, message: 'no' });

function logged(act: (log: Log, sleep: (ms: number) => Promise<void>) => Promise<void>): Promise<LogEvent[]> {
  const world = new VirtualTime({ seed: 1 });
  const events: LogEvent[] = [];
  world.spawn(world.machine('m'), 'log', async (env) => {
    await act(
      boundedLog((event) => events.push(event), env),
      (ms) => env.sleep(ms),
    );
  });
  return world.run(3_600_000).then(() => events);
}

describe('a log with a bound', () => {
  it('leaves events out past the rate, and the next one says how many', async () => {
    const events = await logged(async (log, sleep) => {
      for (let n = 0; n < 1_000; n++) log(warning('c'));
      await sleep(1_000);
      log({ ...warning('c'), fields: { key: 'late' } });
      await sleep(1_000);
      log(warning('c'));
    });
    expect(events).toHaveLength(22);
    expect(events.slice(-2).map(({ fields }) => fields)).toEqual([{ key: 'late', leftOut: 980 }, undefined]);
  });

  it('counts each component on its own: one in trouble does not silence the others', async () => {
    const events = await logged(async (log) => {
      for (let n = 0; n < 1_000; n++) log(warning('loud'));
      log(warning('quiet'));
      return Promise.resolve();
    });
    expect(events.at(-1)?.component).toBe('quiet');
    expect(events).toHaveLength(21);
  });
});
