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
  return { pass, budget: new RepairBudget(env, rates) };
}

describe('[L8] the budget of repair', () => {
  it('lets so many through at once, and the rest at its rate', async () => {
    const { pass, budget } = open();
    const take = () => budget.take('eu/a', false);
    expect([take(), take(), take(), take()]).toEqual([0, 0, 0, 100]);
    await pass(100);
    expect([take(), take()]).toEqual([0, 100]);
    await pass(10_000);
    expect([take(), take(), take(), take()]).toEqual([0, 0, 0, 100]);
  });

  it('slows a zone down without holding up others', () => {
    const { budget } = open();
    expect([budget.take('eu/a', true), budget.take('eu/a', true)]).toEqual([0, 2_000]);
    expect([budget.take('eu/b', true), budget.take('eu/c', false)]).toEqual([0, 0]);
  });
});
