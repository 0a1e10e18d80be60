import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../../env/virtual.js';
import { RepairBudget } from './repair-budget.js';

function open() {
  const time = new VirtualTime({ seed: 1 });
  const rates = { cell: { perSecond: 10, burst: 3 }, slowZone: { perSecond: 0.5, burst: 1 } };
  const { env } = time.machine('server');
  const pass = async (ms: number): Promise<void> => {
    env.after(ms, () => undefined);
    await time.run(time.nowMs + ms);
  };
  const budget = new RepairBudget(env, rates);
  const ask = (...keys: string[]): number[] => keys.map((key) => Math.round(budget.take(key, 'eu/a', false)));
  return { time, pass, budget, ask };
}

describe('[L8] the budget of repair', () => {
  it('lets so many through at once, and the rest at its rate', async () => {
    const { pass, ask } = open();
    expect(ask('a', 'b', 'c', 'd')).toEqual([0, 0, 0, 100]);
    await pass(100);
    expect(ask('d', 'e')).toEqual([0, 100]);
    await pass(10_000);
    expect(ask('e', 'f', 'g', 'h')).toEqual([0, 0, 0, 100]);
  });

  it('gives everybody who waits a time of its own, and the same however often it asks', async () => {
    const { pass, ask } = open();
    expect(ask('a', 'b', 'c', 'd', 'e', 'f')).toEqual([0, 0, 0, 100, 200, 300]);
    expect(ask('f', 'd', 'e')).toEqual([300, 100, 200]);
    await pass(100);
    expect(ask('e', 'd')).toEqual([100, 0]);
  });

  it('keeps the order of those who come late, and never gives more than it has saved up', async () => {
    const { pass, ask } = open();
    ask('a', 'b', 'c');
    expect(ask('d', 'e', 'f', 'g', 'h')).toEqual([100, 200, 300, 400, 500]);
    await pass(5_000);
    expect(ask('h', 'd', 'e', 'f', 'g')).toEqual([200, 0, 0, 0, 100]);
    await pass(100);
    expect(ask('g', 'h')).toEqual([0, 100]);
  });

  it('does not keep a place for who has left', async () => {
    const { pass, budget, ask } = open();
    expect(ask('a', 'b', 'c', 'd', 'e')).toEqual([0, 0, 0, 100, 200]);
    budget.leave('d');
    await pass(200);
    expect(ask('e', 'f')).toEqual([0, 0]);
  });

  it('does not make others wait for those that their own zone holds back', async () => {
    const { pass, budget, ask } = open();
    ask('a', 'b', 'c');
    const slow = Array.from({ length: 20 }, (_, index) => `slow-${index}`);
    const askSlow = (): number[] => slow.map((key) => Math.round(budget.take(key, 'eu/b', true)));
    // The cell has nothing left: they are put in its line, before their zone has said anything.
    askSlow();
    await pass(5_000);
    expect(askSlow().filter((ms) => ms === 0)).toHaveLength(1);
    expect(ask('d', 'e')).toEqual([0, 0]);
  });

  it('has each who waits ask once more, however many they are', async () => {
    const { time, pass, budget } = open();
    const waiting = new Map(Array.from({ length: 100 }, (_, index) => [`r${index}`, 0]));
    let asked = 0;
    while (waiting.size > 0) {
      for (const [key, atMs] of waiting) {
        if (atMs > time.nowMs) continue;
        asked += 1;
        const waitMs = budget.take(key, 'eu/a', false);
        if (waitMs === 0) waiting.delete(key);
        else waiting.set(key, time.nowMs + waitMs);
      }
      await pass(100);
    }
    expect(asked).toBeLessThanOrEqual(200);
    expect(time.nowMs).toBeLessThanOrEqual(10_000);
  });

  it('slows a zone down without holding up others', async () => {
    const { pass, budget } = open();
    expect([budget.take('a', 'eu/a', true), budget.take('b', 'eu/a', true)]).toEqual([0, 2_000]);
    expect([budget.take('c', 'eu/b', true), budget.take('d', 'eu/c', false)]).toEqual([0, 0]);
    await pass(1_000);
    // The brake is off again.
    expect(budget.take('b', 'eu/a', false)).toBe(0);
  });
});
