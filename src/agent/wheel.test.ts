import { expect, it } from 'vitest';
import { VirtualTime } from '../env/virtual.js';
import { Wheel } from './wheel.js';

it('calls at the right time or up to a tick later, in order, with one wake-up for those of a tick', async () => {
  const wakeUps = new Set<number>();
  const time = new VirtualTime({ seed: 1 });
  const { env } = time.machine('m');
  const wheel = new Wheel(env);
  const called: [string, number][] = [];
  const note = (name: string) => (): void => {
    called.push([name, time.nowMs]);
    wakeUps.add(time.nowMs);
  };
  wheel.after(260, note('c'));
  wheel.after(101, note('a'));
  wheel.after(149, note('b'));
  wheel.after(120, note('cancelled')).cancel();
  wheel.after(10_000, () => wheel.after(1, note('d')));
  await time.run();
  expect(called.map(([name]) => name)).toEqual(['a', 'b', 'c', 'd']);
  for (const [index, dueMs] of [101, 149, 260, 10_001].entries()) {
    const lateMs = (called[index]?.[1] ?? 0) - dueMs;
    expect(lateMs).toBeGreaterThanOrEqual(-1);
    expect(lateMs).toBeLessThanOrEqual(51);
  }
  expect(wakeUps.size).toBe(3);
  wheel.after(10, note('never'));
  wheel.close();
  wheel.after(10, note('never'));
  await time.run();
  expect(called).toHaveLength(4);
});
